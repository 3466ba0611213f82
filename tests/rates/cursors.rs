//! The topic over HTTP: the form in which a subscriber gets its cursor when there is no message for it.

use std::time::Duration;

use super::fixture::Shop;
use super::listener::Listener;
use super::topic::operator;

const NOBODY: &str = "businessUnitId=nobody&after=earliest";

#[tokio::test]
async fn a_shop_subscriber_gets_cursors_past_other_shops_messages() {
    let mut shop = Shop::with_units().await;
    let mut live = Listener::join(&shop, "businessUnitId=SE-2&tenantId=acme").await;
    shop.set("C", "SEK", "EUR", "10").await;
    shop.set("SE-2", "SEK", "EUR", "11").await;
    assert_eq!(live.shops(2).await, ["SE-2", "SE-2"]);
    // It reads a log without messages for it, so it gets only the cursor, in a comment.
    let mut nothing = Listener::join(&shop, NOBODY).await;
    let cursor = nothing.next_of_any_kind().await.unwrap();
    assert!(cursor.is_comment, "{cursor:?}");
    let mut resumed = Listener::resume(&shop, "", &cursor.id).await;
    shop.set("C-1", "SEK", "EUR", "12").await;
    assert_eq!(resumed.shops(1).await, ["C-1"]);
    // Other clients ignore comments, so the cursor becomes an event before it is so old that resuming from it would
    // reset.
    shop.clock.advance(Duration::from_secs(3601));
    shop.token = shop.host.token("acme", super::fixture::ROLES).await;
    let mut nothing = Listener::join(&shop, NOBODY).await;
    let event = nothing.next_of_any_kind().await.unwrap();
    assert_eq!((event.is_comment, event.data.as_str()), (false, ""));
    let mut resumed = Listener::resume(&shop, "businessUnitId=nobody", &event.id).await;
    assert!(resumed.next_of_any_kind().await.unwrap().is_comment);
}

#[tokio::test]
async fn all_events_are_messages_where_none_was_passed_over() {
    let shop = Shop::with_units().await;
    shop.set("C", "SEK", "EUR", "10").await;
    let operator = operator(&shop).await;
    for (token, filter) in [
        (&shop.token, ""),
        (&operator, "&tenantId=acme"),
        (&operator, ""),
    ] {
        let query = format!("after=latest{filter}");
        let latest = Listener::ask(&shop, token, &query, None).await;
        let cursor = latest.unwrap().next_of_any_kind().await.unwrap();
        assert!(cursor.is_comment, "{query}: {cursor:?}");
        let query = format!("after=earliest{filter}");
        let mut listener = Listener::ask(&shop, token, &query, None).await.unwrap();
        for _ in 0..3 {
            let message = listener.next_of_any_kind().await.unwrap();
            assert_ne!(message.data, "", "{query}");
        }
        let cursor = listener.next_of_any_kind().await.unwrap();
        assert!(cursor.is_comment, "{query}: {cursor:?}");
    }
}
