import assert from "node:assert/strict";
import { test } from "node:test";

import { answer } from "./ranking.js";

const person = (number, headline) => ({ person: `p${number}`, full_name: "Ada Kern", headline });

test("whoever works with creators is ranked, everybody else has a reason", async () => {
  const people = [person(1, "Accountant at Acme"), person(2, "Head of Creators at Acme"), person(3)];

  const found = await answer({ type: "ranking", people });

  assert.deepEqual(found.ranked.map(({ person, title, level }) => [person, title, level]), [
    ["p2", "Head of Creators", "head"],
  ]);
  assert.deepEqual(found.left_out, [
    { person: "p1", why: "not-eligible" },
    { person: "p3", why: "not-eligible" },
  ]);
});

test("no more are shown than are asked for", async () => {
  const people = [person(1, "Creator Manager at Acme"), person(2, "Creator Lead at Acme")];

  const found = await answer({ type: "ranking", people, contacts: 1 });

  assert.deepEqual(found.ranked.map(({ person }) => person), ["p1"]);
  assert.deepEqual(found.left_out, [{ person: "p2", why: "over-limit" }]);
});
