// A stage of contact-search that speaks only Kafka: it reads work, answers, and commits last.
// All that is the same for every stage is here; what this one finds is in ranking.js. What the
// service relies on is told in docs/topics.md, "Writing a stage".
//
// Takes the service's own names from the environment: CS_KAFKA (host:port of some brokers,
// separated by commas), CS_KAFKA_PREFIX, CS_KAFKA_TLS, CS_KAFKA_SASL, CS_KAFKA_USERNAME,
// CS_KAFKA_PASSWORD. A private authority for TLS: NODE_EXTRA_CA_CERTS, which Node.js reads.

import { Kafka, PartitionAssigners, Partitioners, logLevel } from "kafkajs";

import { STAGE, answer } from "./ranking.js";

const { env } = process;
const PREFIX = env.CS_KAFKA_PREFIX ?? "";
const WORK = `${PREFIX}cs.${STAGE}.v1`;
const OUTCOMES = `${PREFIX}cs.outcomes.v1`;
const DEAD_LETTERS = `${PREFIX}cs.dead-letters.v1`;
const GROUP = `${PREFIX}${STAGE}`;
/** After 20 s of silence the work is given to somebody else. */
const ALIVE_EVERY_MS = 5_000;
/** What is not finished by then is another worker's. */
const LEAVE_WITHIN_MS = 5_000;
const PARTITIONS_AT_ONCE = 12;
const ALL_REPLICAS = -1;

const sasl = env.CS_KAFKA_SASL && {
  mechanism: env.CS_KAFKA_SASL.toLowerCase(),
  username: env.CS_KAFKA_USERNAME,
  password: env.CS_KAFKA_PASSWORD,
};
const kafka = new Kafka({
  clientId: `${STAGE}-node`,
  brokers: (env.CS_KAFKA ?? "127.0.0.1:9092").split(","),
  logLevel: logLevel.ERROR,
  ...(["1", "true"].includes(env.CS_KAFKA_TLS) && { ssl: true }),
  ...(sasl && { sasl }),
});
// murmur2 over the key, as every producer of the service: records of one key stay in order.
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
// All members of a group split its partitions in one way: the service's workers by "roundrobin",
// which kafkajs has under a name of its own.
const roundRobin = (given) => ({ ...PartitionAssigners.roundRobin(given), name: "roundrobin" });
const consumer = kafka.consumer({
  groupId: GROUP,
  partitionAssigners: [roundRobin],
  maxWaitTimeInMs: 500,
});

/** Return the work in `value`. Throws what is wrong with it; a newer field does no harm. */
function readWork(value) {
  const work = JSON.parse(value.toString("utf8"));
  const strings = ["lookup", "deadline_at"].every((name) => typeof work?.[name] === "string");
  if (!strings || !Number.isInteger(work.attempt) || Number.isNaN(Date.parse(work.deadline_at))) {
    throw new TypeError("a field is missing, or of another type");
  }
  if (work.stage !== STAGE || work.input?.type !== STAGE || !Array.isArray(work.input.people)) {
    throw new TypeError("not the work of this stage");
  }
  return work;
}

/** Do `work` and return its result, or how the attempt failed; never throws. */
async function findingOf(work) {
  const left = Date.parse(work.deadline_at) - Date.now();
  const signal = AbortSignal.timeout(Math.min(Math.max(left, 0), 2 ** 31 - 1));
  const deadline = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  try {
    return await Promise.race([answer(work.input, { signal }), deadline]);
  } catch (error) {
    if (signal.aborted) return { type: "failed", why: "timeout", retryable: true };
    // Only the kind of error: its words may name a person, and logs are no place for them.
    console.error(`bug in ${work.lookup}: ${error.name}`);
    return { type: "failed", why: "bug", retryable: true };
  }
}

/** Send what was found; returns once all replicas have it. */
async function say(work, headers, finding) {
  const { lookup, stage, item = "", attempt, receipt = "" } = work;
  const value = JSON.stringify({ lookup, stage, item, attempt, receipt, finding });
  const messages = [{ key: lookup, value, headers }];
  await producer.send({ topic: OUTCOMES, acks: ALL_REPLICAS, messages });
}

async function sendDeadLetter(topic, partition, message, error) {
  const headers = { topic, partition: `${partition}`, offset: message.offset, error: error.name };
  const messages = [{ key: message.key, value: message.value, headers }];
  await producer.send({ topic: DEAD_LETTERS, acks: ALL_REPLICAS, messages });
}

async function handle({ topic, partition, message, heartbeat }) {
  let work;
  try {
    work = readWork(message.value ?? Buffer.alloc(0));
  } catch (error) {
    await sendDeadLetter(topic, partition, message, error);
    return;
  }
  const { traceparent } = message.headers ?? {}; // one trace a lookup: passed on as it came
  const headers = { attempt: `${work.attempt}`, schema: "cs.outcome.v1" };
  if (traceparent) headers.traceparent = traceparent;
  const lives = setInterval(() => {
    say(work, headers, { type: "alive" }).catch((error) => console.error(error.name));
    heartbeat().catch((error) => console.error(error.name)); // the group's: we keep the partition
  }, ALIVE_EVERY_MS);
  try {
    await say(work, headers, await findingOf(work));
  } finally {
    clearInterval(lives);
  }
}

async function run() {
  await producer.connect();
  await consumer.connect();
  await consumer.subscribe({ topics: [WORK], fromBeginning: true }); // where nobody committed
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const mine = payload.memberAssignment[WORK] ?? [];
    console.error(`${STAGE} runs, with ${mine.length} partitions`);
  });
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
    eachMessage: async (record) => {
      await handle(record);
      const { topic, partition, message } = record;
      const offset = `${BigInt(message.offset) + 1n}`; // the next one to be read
      await consumer.commitOffsets([{ topic, partition, offset }]);
    },
  });
}

/** Take nothing new, finish what is in hand, leave the group. */
async function stop() {
  setTimeout(() => process.exit(), LEAVE_WITHIN_MS).unref();
  await consumer.disconnect();
  await producer.disconnect();
}

for (const name of ["SIGTERM", "SIGINT"]) process.once(name, stop);
// A crash that kafkajs cannot mend: whoever started us starts us again.
consumer.on(consumer.events.CRASH, ({ payload }) => {
  if (!payload.restart) process.exitCode = 1;
});
await run();
