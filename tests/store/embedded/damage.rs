//! Bytes that change on the disk by themselves are noticed: a read returns what was written, or an error that names the
//! folder.

use bytes::Bytes;

use super::fake_disk::{FakeDisk, REDB};
use super::*;

fn partition() -> Partition {
    Partition::named("tenant")
}

fn commits() -> Vec<Commit> {
    let commit = |number: u128| Commit {
        partition: partition(),
        id: CommitId(u128::from_be_bytes(*b"the-commit-id-00") + number),
        checks: Vec::new(),
        ops: vec![
            Op::Put {
                key: format!("entry {number:02}"),
                value: Bytes::from(format!("entry's value {number:02} ").repeat(70)),
            },
            Op::Append {
                log: "log".to_owned(),
                attributes: vec![("name".to_owned(), format!("attribute {number:02}"))],
                body: Bytes::from(format!("message's body {number:02} ").repeat(70)),
            },
            Op::Enqueue {
                queue: "queue".to_owned(),
                job: format!("job {number:02}"),
                due: Timestamp(0),
                body: Bytes::from(format!("job's body {number:02} ").repeat(70)),
            },
        ],
    };
    (0..40).map(commit).collect()
}

/// A disk with a closed store: a run of several blocks, and rows of messages and outcomes.
fn closed() -> FakeDisk {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    block_on(async {
        for commit in commits() {
            store.commit(commit).await.unwrap();
        }
    });
    drop(store);
    disk
}

/// What each kind of read returns, the damage that it reports otherwise.
fn read_everything(store: &EmbeddedStore) -> Vec<Result<String, String>> {
    fn shown<T: std::fmt::Debug, E: std::fmt::Display>(
        read: Result<T, E>,
    ) -> Result<String, String> {
        match read {
            Ok(read) => Ok(format!("{read:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
    let p = partition();
    let names: Vec<String> = (0..41).map(|number| format!("entry {number:02}")).collect();
    block_on(async {
        let mut reads = vec![
            shown(store.scan(&p, "", None, 99).await),
            shown(store.read(&p, "log", Position(0), 99).await),
            shown(store.partitions(None, 9).await),
        ];
        for name in names {
            reads.push(shown(store.get(&p, &[name]).await));
        }
        for commit in commits().into_iter().step_by(13) {
            reads.push(shown(store.commit(commit).await));
        }
        reads.push(shown(store.claim(&p, "queue", Duration::ZERO, 99).await));
        reads
    })
}

/// The reads that differ from those of a whole store without reporting damage.
fn wrong(disk: &FakeDisk, expected: &[Result<String, String>]) -> (Vec<usize>, usize) {
    let store = match disk.try_store_with(FlushLimits::default()) {
        Ok(store) => store,
        Err(message) => {
            assert!(message.contains("the folder a test"), "{message}");
            return (Vec::new(), expected.len());
        }
    };
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for (index, (read, expected)) in read_everything(&store).iter().zip(expected).enumerate() {
        match read {
            Err(message) => {
                assert!(message.contains("the folder a test"), "{message}");
                refused += 1;
            }
            read if read != expected => wrong.push(index),
            Ok(_) => {}
        }
    }
    (wrong, refused)
}

fn flipped(disk: &FakeDisk, byte: usize) -> FakeDisk {
    let damaged = disk.copy();
    let mut file = damaged.state().files[REDB].written.clone();
    file[byte] ^= 1 << (byte % 8);
    damaged.put(REDB, file);
    damaged
}

/// Where a text is in redb's file.
fn places(disk: &FakeDisk, text: &[u8]) -> Vec<usize> {
    let file = disk.state().files[REDB].written.clone();
    let windows = file.windows(text.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == text);
    found.map(|(place, _)| place).collect()
}

#[test]
fn a_changed_byte_of_an_entry_a_message_a_job_or_an_outcome_fails_every_read_of_it() {
    let disk = closed();
    let expected = read_everything(&disk.copy().journaling_store());
    assert!(expected.iter().all(Result::is_ok), "{expected:?}");
    for text in [
        "entry's value 17",
        "message's body 17",
        "attribute 17",
        "job's body 17",
        "the-commit-id-0",
    ] {
        let found = places(&disk, text.as_bytes());
        assert!(!found.is_empty(), "{text} is not in the file");
        let mut most = 0;
        for place in found.into_iter().step_by(7) {
            let (wrong, refused) = wrong(&flipped(&disk, place), &expected);
            assert_eq!(wrong, [0; 0], "{text} at {place}: these reads were wrong");
            most = most.max(refused);
        }
        assert!(most > 0, "no damage of {text} was noticed");
    }
}

/// In blocks and rows, in what redb finds them by, and in what the store knows about itself.
#[test]
fn whichever_byte_of_the_file_changes_nothing_wrong_is_read() {
    let disk = closed();
    let expected = read_everything(&disk.copy().journaling_store());
    let file = disk.state().files[REDB].written.clone();
    let used: Vec<usize> = (0..file.len()).filter(|byte| file[*byte] != 0).collect();
    let mut noticed = 0;
    for byte in used.iter().step_by(used.len() / 400) {
        let (wrong, refused) = wrong(&flipped(&disk, *byte), &expected);
        assert_eq!(wrong, [0; 0], "byte {byte}: these reads were wrong");
        noticed += usize::from(refused > 0);
    }
    assert!(noticed > 100, "only {noticed} changes were noticed");
}
