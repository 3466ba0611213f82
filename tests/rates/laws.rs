//! Laws of exchange rates, for random changes of two tenants while the background runs at any time: a consumer of the
//! topic, in any order and with repeats, holds the rates that every shop uses, and a naive model of `rates.md` gives
//! the same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tillgate_store::Position;

use super::commands::{Command, IDS, KEYS, Step};
use super::consumer::{Consumer, Message, messages};
use super::fixture::Shop;
use super::model::{Key, Model};
use super::trial::Trial;

const TENANTS: [&str; 2] = ["acme", "zeta"];

fn key() -> impl Strategy<Value = Key> {
    select(KEYS)
}

/// In millionths. The opposite of a rate above 2,000,000 rounds to zero.
fn rate() -> impl Strategy<Value = i128> {
    prop_oneof![
        4 => 1_i128..30_000_000,
        1 => select(vec![1, 2, 333_333, 1_000_000, 11_050_000, 1_999_999_999_999, 3_000_000_000_000]),
    ]
}

fn markup() -> impl Strategy<Value = i128> {
    prop_oneof![2 => 1_i128..1_000_000, 1 => select(vec![0, 1, 25_000, 999_999])]
}

pub fn command() -> impl Strategy<Value = Command> {
    let unit = || 0..IDS.len();
    let markups = btree_map(key(), markup(), 0..3);
    let put = (
        unit(),
        any::<Index>(),
        proptest::option::of(markup()),
        markups,
    )
        .prop_map(|(id, parent, markup, markups)| Command::Put {
            id,
            parent: parent.index(IDS.len() + 1),
            markup,
            markups,
        });
    let bulk = (unit(), btree_map(key(), rate(), 0..5), vec(key(), 1..4));
    let bulk = bulk.prop_map(|(id, set, delete)| {
        let delete = delete.into_iter().filter(|key| !set.contains_key(key));
        let delete: BTreeSet<_> = delete.collect();
        Command::Change { id, set, delete }
    });
    let quote = (select(vec!["SEK", "USD", "NOK"]), 100_000_i128..20_000_000);
    let import = (
        unit(),
        any::<bool>(),
        10_u8..=20,
        vec(quote, 1..4),
        any::<bool>(),
    );
    let import = import.prop_map(|(id, both, day, quotes, crosses)| Command::Import {
        id,
        types: if both {
            &["PURCHASE", "SALES"]
        } else {
            &["SALES"]
        },
        day: format!("2026-11-{day}"),
        quotes: quotes.into_iter().collect(),
        crosses,
    });
    prop_oneof![
        5 => put,
        1 => unit().prop_map(|id| Command::Delete { id }),
        6 => (unit(), key(), rate()).prop_map(|(id, key, value)| Command::Set { id, key, value }),
        2 => (unit(), key()).prop_map(|(id, key)| Command::Unset { id, key }),
        3 => bulk,
        1 => import,
        1 => proptest::option::of(unit()).prop_map(|id| Command::InitialState { id }),
        2 => Just(Command::Run),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3_usize, any::<bool>(), 1..20_000_u64, command());
    let step = step.prop_map(|(tenant, is_alone, millis, command)| Step {
        // One tenant makes most of the changes.
        tenant: TENANTS[tenant / 2],
        is_alone,
        millis,
        command,
    });
    vec(step, 30..140)
}

/// A tenant under test.
struct Tenant {
    trial: Trial,
    read: Position,
    consumer: Consumer,
    all: Vec<Message>,
}

impl Tenant {
    async fn new(shop: &Shop, name: &'static str) -> Self {
        let roles = ["exr.editor", "exr.subscriber"];
        Self {
            trial: Trial {
                tenant: name,
                token: shop.host.token(name, &roles).await,
                model: Model::default(),
                initial_states: BTreeSet::new(),
            },
            read: Position::default(),
            consumer: Consumer::default(),
            all: Vec::new(),
        }
    }

    /// Applies the messages that were published since, and checks each.
    async fn follow(&mut self, shop: &Shop) -> Vec<Message> {
        let new = messages(&shop.host, self.trial.tenant, &mut self.read).await;
        for message in &new {
            assert_eq!(message.tenant, self.trial.tenant);
            let earlier = self.all.iter().rev();
            let mut of_shop = earlier.filter(|earlier| earlier.shop == message.shop);
            let last = of_shop.next();
            assert!(last.is_none_or(|last| last.publish_time < message.publish_time));
            let is_initial = self.trial.initial_states.contains(&message.correlation);
            self.consumer.check(message, is_initial);
            self.consumer.take(message);
            self.all.push(message.clone());
        }
        new
    }

    /// Makes a step while nothing else is in progress: it publishes exactly what the dry run and the model say.
    async fn step_alone(&mut self, shop: &Shop, command: &Command) {
        shop.host.run_due().await;
        self.follow(shop).await;
        let before = self.trial.model.clone();
        let dry = self.trial.dry_run(shop, command).await;
        self.trial.run(shop, command).await;
        shop.host.run_due().await;
        let published = self.follow(shop).await;
        self.trial.check_published(&before, command, &published);
        if let Some(dry) = dry {
            self.trial.check_dry_run(&before, command, &dry, &published);
        }
    }

    /// Completes all work and asserts that everyone holds the rates of the model.
    async fn check(&mut self, shop: &Shop, seed: u64) {
        self.follow(shop).await;
        let expected = self.consumer.state();
        for id in IDS {
            let used = self.trial.check_used(shop, id).await;
            if id.starts_with('s') {
                self.consumer.assert_holds(id, &used.values);
                let of_shop = expected.iter().filter(|(key, _)| key.0 == *id);
                let held: Vec<_> = of_shop.map(|(_, rate)| rate.clone()).collect();
                assert_eq!(held, used.texts, "{id}");
            }
        }
        let mut consumer = Consumer::default();
        for message in &self.all {
            consumer.take(message);
            consumer.take(message);
        }
        assert_eq!(consumer.state(), expected);
        let mut consumer = Consumer::default();
        for message in shuffled(&self.all, seed) {
            consumer.take(message);
        }
        assert_eq!(consumer.state(), expected);
    }
}

/// Returns all messages, and about half of them again, in random order.
fn shuffled(messages: &[Message], mut seed: u64) -> Vec<&Message> {
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut shuffled: Vec<_> = messages.iter().collect();
    shuffled.extend(messages.iter().step_by(2));
    for index in (1..shuffled.len()).rev() {
        shuffled.swap(index, next(index + 1));
    }
    shuffled
}

async fn hold(steps: Vec<Step>, seed: u64) {
    let shop = Shop::start().await;
    let mut tenants = BTreeMap::new();
    for name in TENANTS {
        tenants.insert(name, Tenant::new(&shop, name).await);
    }
    for id in ["c0", "g0", "s0", "s1"] {
        let id = IDS.iter().position(|known| *known == id).unwrap();
        let first = tenants.get_mut(TENANTS[0]).unwrap();
        let put = Command::Put {
            id,
            parent: 0,
            markup: None,
            markups: BTreeMap::new(),
        };
        first.trial.run(&shop, &put).await;
    }
    for step in &steps {
        shop.clock
            .advance(std::time::Duration::from_millis(step.millis));
        let tenant = tenants.get_mut(step.tenant).unwrap();
        if step.is_alone {
            tenant.step_alone(&shop, &step.command).await;
        } else {
            tenant.trial.run(&shop, &step.command).await;
        }
    }
    shop.host.run_due().await;
    for tenant in tenants.values_mut() {
        tenant.check(&shop, seed).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whoever_follows_the_topic_holds_what_every_shop_uses(steps in steps(), seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(hold(steps, seed));
    }
}
