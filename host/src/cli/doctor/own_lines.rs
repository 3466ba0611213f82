//! The lines of a log that this program wrote, which contain no secrets. A file may also have lines of a proxy or of a
//! whole machine, which are left out. Pure.

use serde::Deserialize;

const LEVELS: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/// The fields of a JSON log line that identify the program that wrote it.
#[derive(Deserialize)]
struct Json {
    timestamp: String,
    level: String,
    target: String,
}

/// Returns the lines that this program wrote, and the number of other lines.
pub(super) fn own_lines(log: &str) -> (String, usize) {
    let (mut own, mut others) = (String::new(), 0);
    for line in log.lines() {
        if is_own(line) {
            own.push_str(line);
            own.push('\n');
        } else {
            others += 1;
        }
    }
    (own, others)
}

fn is_own(line: &str) -> bool {
    if let Ok(json) = serde_json::from_str::<Json>(line) {
        return is_head(&json.timestamp, &json.level, &json.target);
    }
    // "2026-01-01T00:00:00.000000Z  INFO tillgate_base::jobs: …"
    let mut words = line.split_ascii_whitespace();
    let (time, level, target) = (words.next(), words.next(), words.next());
    let target = target.and_then(|target| target.strip_suffix(':'));
    match (time, level, target) {
        (Some(time), Some(level), Some(target)) => is_head(time, level, target),
        _ => false,
    }
}

fn is_head(time: &str, level: &str, target: &str) -> bool {
    let (room, _) = target.split_once("::").unwrap_or((target, ""));
    let is_ours = room == "audit" || room == "tillgate" || room.starts_with("tillgate_");
    is_ours && LEVELS.contains(&level) && time.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::own_lines;

    #[test]
    fn what_this_program_has_written_stays_and_nothing_else() {
        let own = [
            "2026-11-28T09:14:19.704965Z  INFO audit: action=\"webhook.put\" tenant=\"acme\"",
            "2026-11-28T09:14:19.704965Z  WARN tillgate::jobs::attempt: a job failed",
            "2026-11-28T09:14:19.704965Z ERROR tillgate_store::embedded: the disk is full",
            r#"{"timestamp":"2026-11-28T09:14:19.704965Z","level":"INFO","fields":{"message":"it listens"},"target":"tillgate::server"}"#,
        ];
        let others = [
            "",
            "Authorization: Bearer abc",
            "2026-11-28T09:14:19Z  INFO connecting to redis://till:sesame@127.0.0.1",
            "2026-11-28T09:14:19Z  INFO nginx: secret=abc",
            "2026-11-28T09:14:19Z  INFO tillgateway: secret=abc",
            "yesterday INFO tillgate: secret=abc",
            r#"{"timestamp":"2026-11-28T09:14:19Z","level":"INFO","target":"proxy","secret":"abc"}"#,
            r#"{"clientSecret":"abc"}"#,
        ];
        let log = [own.as_slice(), &others].concat().join("\n");
        let expected = own.map(|line| format!("{line}\n")).concat();
        assert_eq!(own_lines(&log), (expected, others.len()));
    }
}
