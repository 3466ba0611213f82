// JSON text that JSON.stringify cannot write: members that occur twice, and numbers as text.

/** A text in place of a value: `1e400`, `-0`, or text that is no JSON. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

/** An object: a list of `[name, value]`, in which a name may occur twice. */
export class Members extends Array {}

/** A value with its objects as members. */
export function toTree(value) {
  if (Array.isArray(value)) return value.map(toTree);
  if (value === null || typeof value !== "object") return value;
  return Members.from(Object.entries(value), ([name, member]) => [name, toTree(member)]);
}

/** The text of a tree. Single surrogates become escapes, as JSON.stringify writes them. */
export function write(tree) {
  if (tree instanceof Raw) return tree.text;
  if (tree instanceof Members) return `{${tree.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join(",")}}`;
  if (Array.isArray(tree)) return `[${tree.map(write).join(",")}]`;
  return JSON.stringify(tree);
}

/** Every place of a tree: `{ name, value, set(value), remove(), double() }`, the root first. */
export function places(root, setRoot) {
  const found = [{ name: "$", value: root, set: setRoot, remove: () => setRoot(new Raw("")), double: () => setRoot([root, root]) }];
  const visit = (node) => {
    if (!Array.isArray(node)) return;
    node.forEach((entry, at) => {
      const [name, value] = node instanceof Members ? entry : [String(at), entry];
      const set = (other) => (node[at] = node instanceof Members ? [name, other] : other);
      found.push({ name, value, set, remove: () => node.splice(at, 1), double: () => node.splice(at, 0, structured(entry)) });
      visit(value);
    });
  };
  visit(root);
  return found;
}

/** A copy of a tree. */
export function structured(tree) {
  if (tree instanceof Raw || !Array.isArray(tree)) return tree;
  return tree instanceof Members ? Members.from(tree, ([name, value]) => [name, structured(value)]) : tree.map(structured);
}
