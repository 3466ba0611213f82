// Reading and writing CSV in the page: RFC 4180, the delimiters of spreadsheets, their encodings, formulas that must not run,
// and hostile or broken input.
//
//     node --test tests/page/csv.test.mjs

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { decodeText, parseCsv, readingCsv, writeCsv } from "../../www/shared/csv.js";

const rows = (text, options) => parseCsv(text, options).rows;

test("rows are written with the delimiter of their list, or else with commas", () => {
  const rows = [["id", "price"], ["a;b", "1,5"], ["=1", "x\ty"]];
  for (const delimiter of [";", "\t", "|"]) {
    const text = writeCsv(rows, delimiter);
    assert.equal(text.split("\r\n")[0], `id${delimiter}price`);
    assert.deepEqual(parseCsv(text, { delimiter }).rows, rows);
  }
  for (const none of [undefined, "", ":"]) assert.equal(writeCsv([["a:b", "c"]], none), "a:b,c\r\n");
});

describe("CSV is read", () => {
  test("with quotes, line breaks in them and every line end", () => {
    assert.deepEqual(rows('id,"na""me"\r\n1,"two\r\nlines, one cell"\n2,\r3,c'), [["id", 'na"me'], ["1", "two\r\nlines, one cell"], ["2", ""], ["3", "c"]]);
  });

  test("with the delimiter that most of its lines have", () => {
    const found = (text) => parseCsv(text).delimiter;
    assert.equal(found("id;price\na;1,5\nb;2,5"), ";");
    assert.equal(found("id,name\na,one; two\nb,c"), ",");
    assert.equal(found("id\tname\na\tb, c"), "\t");
    assert.equal(found("id|name\na|b"), "|");
    assert.equal(found('"a,b"\n"c,d"'), "");
    assert.equal(found("timber\nscrews, nails\nglue"), "");
    assert.deepEqual(rows("timber\nscrews, nails\nglue"), [["timber"], ["screws, nails"], ["glue"]]);
    assert.deepEqual(rows("a,b\nc,d", { delimiter: "" }), [["a,b"], ["c,d"]]);
  });

  test("with the delimiter that a first line names, which is no row", () => {
    for (const [line, end] of [["sep=;", "\n"], ["\ufeffsep=;", "\r\n"], ["SEP=;", "\r"]]) {
      assert.deepEqual(parseCsv(`${line}${end}a,b;c${end}1,5;2`), { delimiter: ";", rows: [["a,b", "c"], ["1,5", "2"]], lines: end === "\r" ? [1, 1] : [2, 3], faults: [] });
    }
    assert.deepEqual(rows("sep=\t\na;b\tc"), [["a;b", "c"]]);
    assert.deepEqual(rows("sep=:\na:b,c"), [["a", "b,c"]]);
    assert.deepEqual(rows("sep=;\na,b;c", { delimiter: "," }), [["a", "b;c"]]);
    assert.deepEqual(rows("sep=;"), []);
    assert.deepEqual(rows("sep=;\ntimber\nglue"), [["timber"], ["glue"]]);
    assert.deepEqual(rows("a;b\nc;d\nsep=,\n"), [["a", "b"], ["c", "d"], ["sep=,"]]);
  });

  test("to the letter, without blank lines", () => {
    assert.deepEqual(rows(" a ,B\n\n\r\nc,\u00a0d"), [[" a ", "B"], ["c", "\u00a0d"]]);
    assert.deepEqual(rows('a\n\n""\n  \n'), [["a"], [""], ["  "]]);
    assert.deepEqual(rows(""), []);
    assert.deepEqual(rows("\ufeffa,b"), [["a", "b"]]);
    assert.deepEqual(rows("a,"), [["a", ""]]);
    assert.deepEqual(rows(","), [["", ""]]);
  });

  test("with the line that each row begins in", () => {
    assert.deepEqual(parseCsv('id,note\n\n1,"two\nlines"\r\n\r\n2,b\n3,').lines, [1, 3, 6, 7]);
  });

  test("with quotation marks that are none as they stand, and says where", () => {
    assert.deepEqual(parseCsv('5" screws\n"5" nails\nglue'), {
      delimiter: "",
      rows: [['5" screws'], ['"5" nails'], ["glue"]],
      lines: [1, 2, 3],
      faults: [{ line: 2, message: "A cell starts with a quotation mark but does not end with one. It is read unchanged." }],
    });
    const open = parseCsv('id,name\n1,"never closed\n2,b');
    assert.deepEqual(open.rows, [["id", "name"], ["1", '"never closed'], ["2", "b"]]);
    assert.deepEqual(open.faults.map(({ line }) => line), [2]);
  });
});

describe("files are decoded", () => {
  const text = "id,größe\n1,ß";
  const utf16 = (isLittle, mark = "\ufeff") => {
    const bytes = Buffer.from(mark + text, "utf16le");
    return new Uint8Array(isLittle ? bytes : bytes.swap16());
  };

  test("from UTF-8 and UTF-16, with their marks and without", () => {
    assert.equal(decodeText(Buffer.from(text)), text);
    assert.equal(decodeText(Buffer.from(`\ufeff${text}`)), text);
    for (const isLittle of [true, false]) {
      assert.equal(decodeText(utf16(isLittle)), text);
      assert.equal(decodeText(utf16(isLittle, "")), text);
    }
    assert.equal(decodeText(new Uint8Array()), "");
  });

  test("from what Windows writes when it is not UTF-8", () => {
    assert.equal(decodeText(Uint8Array.of(0x67, 0x72, 0xf6, 0xdf, 0x65)), "größe");
  });
});

describe("CSV is written", () => {
  const odd = ["", " a ", "a,b;c|d\te", 'say "x"', "two\nlines", "\u00a0", "’", "'", "'a", "\ufeffa", "true", "ＡＢ"];
  const formulas = ["=cmd()", "+1", "-1", "@x", "\tx", "\rx", "\nx", "'=x", "''-1", "＝x"];
  const hidden = [" =x", "\u00a0+1", "\u3000-1", "\u200b@x", "\ufeff=x", "\u202e=x", "\u00ad=x", "\ufe0f=x", "\u3164=x", "\u2800=x", "\0=x", "\u001b=x", " ' =x", "' \u200b=x"];

  test("so that it is read back as it was", () => {
    const given = [...odd, ...formulas, ...hidden];
    assert.deepEqual(rows(writeCsv(given.map((value) => [value]))), given.map((value) => [value]));
    assert.deepEqual(rows(writeCsv([given, given])), [given, given]);
  });

  test("so that no spreadsheet runs it", () => {
    assert.equal(writeCsv([["=cmd()", "-1", "a"]]), "\"'=cmd()\",\"'-1\",a\r\n");
    const cells = writeCsv(formulas.map((value) => [value])).split("\r\n");
    assert.deepEqual(cells.filter((cell) => /^"?[=+\-@\t\r\n＝]/.test(cell)), []);
    assert.equal(writeCsv([hidden]), `${hidden.map((cell) => `"'${cell}"`).join(",")}\r\n`);
    assert.equal(writeCsv([[" a", "a =b", "'a"]]), "\" a\",a =b,'a\r\n");
  });
});

describe("hostile text ends soon", () => {
  const MIB = 1024 * 1024;
  const longest = (text) => {
    const reading = readingCsv(text);
    let longest_ms = 0;
    for (let step; !step?.done; ) {
      const start = performance.now();
      step = reading.next();
      longest_ms = Math.max(longest_ms, performance.now() - start);
      if (step.done) return { ...step.value, longest_ms };
    }
  };

  test("one line without end is one cell", () => {
    const { rows: read, faults } = longest("x".repeat(16 * MIB));
    assert.equal(read.length, 1);
    assert.equal(read[0][0].length, 16 * MIB);
    assert.deepEqual(faults, []);
  });

  test("10,000 columns are as many cells", () => {
    const line = Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(",");
    assert.deepEqual(longest(`${line}\n${line}`).rows.map((row) => row.length), [10_000, 10_000]);
  });

  test("more cells than fit are named, and the rest is left out", () => {
    for (const text of [",".repeat(16 * MIB), "a\n".repeat(8 * MIB), ",\n".repeat(8 * MIB)]) {
      const { rows: read, faults } = longest(text);
      assert.ok(read.flat().length <= 2_000_001);
      assert.match(faults[0].message, /more than 2,000,000 cells/);
    }
  });

  test("quotation marks alone are read once", () => {
    for (const text of ['"'.repeat(MIB), '"x""\n'.repeat(MIB), `"${'""'.repeat(MIB)}`, '"a\n'.repeat(MIB)]) {
      assert.ok(longest(text).faults.length <= 100);
    }
  });
});
