// Whether what several writers were told about one thing can be the result of their requests one after the other, each at
// some moment between when it was sent and when it was answered.
//
// An operation is `{ do: "put" | "delete", begin, end, status, expects }`. `expects` is what must be there: the number of the
// operation that wrote it (If-Match), `null` for nothing (If-None-Match), `undefined` for whatever it is. One that was
// answered with 503 may have taken effect or not. A state is the number of the operation that wrote what is there, or `null`.

/** What an operation does to a state: `{ state, statuses }`, the statuses that say so. */
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
 * Whether there is an order in which the operations lead from one state to another. `creates` says whether a PUT creates
 * what is not there.
 */
export function isLinearizable(operations, first, last, creates = true) {
  const seen = new Set();
  const step = (left, state) => {
    if (left.length === 0) return state === last;
    const known = `${left.join()}/${state}`;
    if (seen.has(known)) return false;
    seen.add(known);
    // None comes after one that began when it had ended.
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
