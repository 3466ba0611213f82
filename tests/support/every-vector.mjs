// Every vector in a page: through the glue, the package's instance and the package's API.

/** Answers the vectors of these files; returns their number and the names of the wrong ones. */
export async function answerAll(files) {
  const glue = await import("/js/engine/tillgate.js");
  const tillgate = await import("/js/src/runtime/browser.js");
  const { current } = await import("/js/src/shared/engine.js");
  const vector = await import("/tests/support/vector.mjs");
  await glue.default({ module_or_path: "/js/engine/tillgate_bg.wasm" });
  await tillgate.init();
  let ran = 0;
  const wrong = [];
  for (const file of files) {
    const { vectors } = await (await fetch(`/tests/vectors/${file}`)).json();
    for (const { name, call, answer } of vectors.filter(({ call }) => vector.isText(call))) {
      const answers = [vector.throughGlue(glue, call), vector.throughInstance(current(), call)];
      for (const each of [call, vector.withValues(call)]) answers.push(vector.throughPackage(tillgate, each) ?? answers[0]);
      ran += 1;
      if (answers.some((each) => each !== vector.expected(answer))) wrong.push(`${file}: ${name}`);
    }
  }
  return { ran, wrong };
}
