//! Only regular files are read again while a host runs.

use std::fs;
use std::os::unix::fs::symlink;

use tillgate_store::regular_file;

use crate::support::fifo::make_fifo;
use crate::support::wait::within;

#[tokio::test]
async fn regular_files_and_links_to_them_are_read_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link, fifo, missing] =
        ["file", "link", "fifo", "missing"].map(|name| folder.path().join(name));
    fs::write(&file, "content").unwrap();
    symlink(&file, &link).unwrap();
    make_fifo(&fifo);
    for path in [&file, &link] {
        let read = within("a file is read", regular_file::read(path)).await;
        assert_eq!(read.unwrap(), b"content");
    }
    let not_regular = "it is not a regular file";
    for (path, why) in [
        (fifo.as_path(), not_regular),
        (folder.path(), not_regular),
        (missing.as_path(), "No such file or directory (os error 2)"),
    ] {
        let refused = within("a file is refused", regular_file::read(path)).await;
        assert_eq!(refused.unwrap_err().to_string(), why);
    }
}
