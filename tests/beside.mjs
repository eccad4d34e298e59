// Runs suites beside each other, as many as the machine bears, and keeps their output apart.

/** Whether two suites may run at the same time. */
function bear(one, other) {
  return [[one, other], [other, one]].every(([{ beside }, { name }]) => beside === undefined || beside.includes(name));
}

/**
 * Runs `suites` by `run`, in their order. One that would not fit yet is passed over: together they
 * keep at most `busyMax` processors busy, and each only bears those that it names, if it names any.
 * One that keeps more busy by itself runs alone. `run` gets the suite and a function that shows one
 * of its lines. The lines of one suite follow each other: those of the suite that began first are
 * shown at once, those of the others once it has ended.
 *
 * @param {{ name: string, busy?: number, beside?: string[] }[]} suites
 */
export async function besides(suites, busyMax, say, run) {
  const waiting = [...suites];
  const running = new Map();
  const shown = [];
  const fits = (suite) => {
    const others = [...running.keys()];
    const busy = [suite, ...others].reduce((sum, { busy }) => sum + (busy ?? Infinity), 0);
    return others.length === 0 || (busy <= busyMax && others.every((other) => bear(suite, other)));
  };
  const start = async (suite) => {
    const own = { lines: [], isOver: false };
    shown.push(own);
    await run(suite, (line) => (shown[0] === own ? say(line) : own.lines.push(line)));
    own.isOver = true;
    while (shown[0]?.isOver) {
      shown.shift();
      shown[0]?.lines.splice(0).forEach((line) => say(line));
    }
    running.delete(suite);
  };
  while (waiting.length > 0 || running.size > 0) {
    for (const suite of [...waiting].filter((suite) => fits(suite))) {
      if (!fits(suite)) continue;
      waiting.splice(waiting.indexOf(suite), 1);
      running.set(suite, start(suite));
    }
    await Promise.race(running.values());
  }
}
