// What time it is, for words that say how long ago something was: they go on as long as somebody
// looks at them.
import { createSubscriber } from "svelte/reactivity";

/** Finer than the minutes that are told. */
const EVERY_MS = 10_000;

const look = createSubscriber((update) => {
  const clock = setInterval(update, EVERY_MS);
  return () => clearInterval(clock);
});

/** Milliseconds since 1970; what is shown of it is updated every ten seconds. */
export function now(): number {
  look();
  return Date.now();
}
