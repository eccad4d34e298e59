// The parameters of Rust functions, as a rule about them sees them.

const OPENS = { "(": ")", "[": "]", "{": "}", "<": ">" };

/** The index after the bracket that closes the one at `open`. */
function closed(code, open) {
  const expected = [];
  for (let at = open; at < code.length; at += 1) {
    const char = code[at];
    if (char === ">" && /[-=]/.test(code[at - 1])) continue;
    if (char in OPENS) expected.push(OPENS[char]);
    else if (char === expected.at(-1)) expected.pop();
    if (expected.length === 0) return at + 1;
  }
  return code.length;
}

/** The parts of `list` between commas that are in no bracket. */
function parts(list) {
  const found = [];
  let [from, at] = [0, 0];
  while (at < list.length) {
    if (list[at] === ",") {
      found.push(list.slice(from, at));
      from = at + 1;
    }
    at = list[at] in OPENS ? closed(list, at) : at + 1;
  }
  return [...found, list.slice(from)].map((part) => part.replace(/\s+/g, " ").trim()).filter(Boolean);
}

/**
 * Parameters of functions in `code` that take a tuple apart, `(a, b): (A, B)`, each with the
 * function's name and the line. Closures may: iterators give them pairs. `code` is without comments
 * and strings.
 */
export function tupleParameters(code) {
  return [...code.matchAll(/\bfn\s+(\w+)\s*/g)].flatMap((match) => {
    let open = match.index + match[0].length;
    if (code[open] === "<") open = closed(code, open);
    if (code[open] !== "(") return [];
    const line = code.slice(0, match.index).split("\n").length;
    const parameters = parts(code.slice(open + 1, closed(code, open) - 1));
    return parameters.filter((one) => /^(#\[[^\]]*\]\s*)*(mut |&)*\(/.test(one)).map((parameter) => ({ name: match[1], line, parameter }));
  });
}
