/**
 * Turns descriptions into elements: paragraphs and lists with code, emphasis and links, the part of Markdown that documents of
 * the API use. Anything else stays as written.
 */

import { button, h } from "../shared/dom.js";
import { copy } from "../shared/copy.js";

export function prose(text) {
  const blocks = text.trim().split(/\n\s*\n/);
  return blocks.map((block) => {
    const lines = block.split("\n");
    if (!lines[0].startsWith("- ")) return h("p", {}, inline(lines.join(" ")));
    const items = block.slice(2).split(/\n- /);
    return h("ul", { class: "points" }, items.map((item) => h("li", {}, inline(item.replace(/\s*\n\s*/g, " ")))));
  });
}

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(((?:https?:\/\/|[#./])[^)\s]*)\)/g;

/** The elements of one line: text with code, emphasis and links. */
export function inline(text) {
  const parts = [];
  let from = 0;
  for (const { 0: whole, 1: code, 2: strong, 3: link, 4: href, index } of text.matchAll(INLINE)) {
    parts.push(text.slice(from, index), code ? h("code", {}, code) : strong ? h("b", {}, strong) : h("a", { href }, link));
    from = index + whole.length;
  }
  return [...parts, text.slice(from)];
}

/** Content that is hidden until the user opens it. */
export const folded = (title, ...content) => h("details", { class: "folded" }, h("summary", {}, title), content);

/** A text as sent, with a button that copies it; `noun` names it. */
export function codeBlock(noun, text) {
  const pre = h("pre", { tabindex: "0", "aria-label": noun }, text);
  return h("div", { class: "code" }, pre, button(`Copy: ${noun}`, { image: "copy", iconOnly: true, class: "plain", onclick: () => copy(pre.textContent, noun) }));
}
