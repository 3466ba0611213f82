//! JSON as files have it: a member or an element per line, so that version control shows what has changed. Numbers are
//! written as they are, since none is converted to a float. Characters that a terminal or an editor would act on are
//! escaped.

use tillgate_engine::json::{Document, Node, Scalar};

use super::members::write_text;
use crate::output::on_lines;

/// Returns a JSON text, indented, with a line break at its end.
pub(super) fn indented(json: &[u8]) -> Vec<u8> {
    let Ok(document) = Document::parse_up_to(json, usize::MAX) else {
        return json.to_vec();
    };
    let mut out = Vec::with_capacity(2 * json.len());
    write(document.root(), 0, &mut out);
    out.push(b'\n');
    // A reviewer of the file must see what it says.
    on_lines(&String::from_utf8_lossy(&out))
        .into_owned()
        .into_bytes()
}

fn write(node: Node<'_, '_>, depth: usize, out: &mut Vec<u8>) {
    let (open, close) = match node.scalar() {
        Scalar::Array => (b'[', b']'),
        Scalar::Object => (b'{', b'}'),
        _ => return node.write(out),
    };
    out.push(open);
    let mut is_empty = true;
    for child in node.children() {
        if !is_empty {
            out.push(b',');
        }
        is_empty = false;
        new_line(depth + 1, out);
        if open == b'{' {
            write_text(child.key(), out);
            out.extend_from_slice(b": ");
        }
        write(child, depth + 1, out);
    }
    if !is_empty {
        new_line(depth, out);
    }
    out.push(close);
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}
