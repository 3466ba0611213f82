// Decides if the answers to several writers of one thing can be the result of their requests in some order, each at a moment
// between its sending and its answer.
//
// An operation is `{ do: "put" | "delete", begin, end, status, expects }`. `expects` is the required state: the number of the
// operation that wrote it (If-Match), `null` for nothing (If-None-Match), `undefined` for any. An operation answered with 503
// may have taken effect or not. A state is the number of the operation that wrote it, or `null`.

/** The effect of an operation on a state: `{ state, statuses }`, with the statuses that report it. */
function effect({ do: what, expects }, number, state, creates) {
  const holds = expects === undefined || expects === state;
  if (what === "delete") {
    if (state === null) return { state, statuses: [404] };
    return holds ? { state: null, statuses: [204] } : { state, statuses: [412] };
  }
  if (state === null && !creates) return { state, statuses: [404] };
  if (!holds) return { state, statuses: [412] };
  return { state: number, statuses: [state === null ? 201 : 200] };
}

/**
 * True if the operations lead from one state to another in some order. `creates` is true if a PUT creates what does not exist.
 */
export function isLinearizable(operations, first, last, creates = true) {
  const seen = new Set();
  const step = (left, state) => {
    if (left.length === 0) return state === last;
    const known = `${left.join()}/${state}`;
    if (seen.has(known)) return false;
    seen.add(known);
    // No operation comes after one that began when it had ended.
    const firstEnd = Math.min(...left.map((number) => operations[number].end));
    return left.some((number) => {
      const operation = operations[number];
      if (operation.begin > firstEnd) return false;
      const rest = left.filter((other) => other !== number);
      const after = effect(operation, number, state, creates);
      if (operation.status === 503) return step(rest, after.state) || step(rest, state);
      return after.statuses.includes(operation.status) && step(rest, after.state);
    });
  };
  return step([...operations.keys()], first);
}
