// What this stage finds: who of the people found at a brand is worth a search for a mailbox.
// Change this file, and STAGE, for a stage of your own; stage.js stays as it is.

/** The stage whose work is done here: its topic and consumer group are called like it. */
export const STAGE = "ranking";

const WANTED = new Set(["influencer", "influencers", "creator", "creators"]);
const LEVELS = [["chief", "c_level"], ["vp", "vp"], ["director", "director"], ["head", "head"]];

/**
 * Return the result for `input`; keeps nothing between two calls, so that the same work has the
 * same answer wherever it is done. `options.signal` is aborted at the deadline of the work.
 */
export async function answer(input, _options) {
  const read = input.people.map((person) => ({ person, words: wordsOf(person.headline ?? "") }));
  const fits = read.filter(({ words }) => words.some((word) => WANTED.has(word)));
  const others = read.filter((each) => !fits.includes(each));
  const shown = input.contacts ?? 25;
  return {
    type: "ranked",
    ranked: fits.slice(0, shown).map(({ person, words }) => ({
      personal: "ranked",
      person: person.person,
      title: person.headline.split(" at ")[0],
      family: "influencer",
      level: LEVELS.find(([word]) => words.includes(word))?.[1] ?? "manager",
      score: 0.75,
    })),
    left_out: [
      ...fits.slice(shown).map(({ person }) => ({ person: person.person, why: "over-limit" })),
      ...others.map(({ person }) => ({ person: person.person, why: "not-eligible" })),
    ],
  };
}

function wordsOf(headline) {
  return headline.toLowerCase().split(/[^\p{Letter}\p{Number}]+/u);
}
