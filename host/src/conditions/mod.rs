//! Conditions and projects: writing them, seeing them, and asking the module about items.
//!
//! What a tenant sees is kept in memory as a [`Sight`], made once a change by the first who asks after it. Writes go to the store, then memory catches up before they are answered. Decisions are the module's:
//! this finds the documents to ask it with. Called by `http.rs` alone.

pub mod http;
mod shelf;
mod sight;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tillgate_engine::condition::{ConditionId, EntityCondition, Scope};
use tillgate_engine::restriction::ProjectId;

use self::shelf::{Shelf, condition_key, project_key};
pub use self::shelf::{StoredCondition, StoredProject};
pub use self::sight::Sight;
use crate::clock::Clock;
use crate::engine::{Decider, Question};
use crate::error::{Error, Result};
use crate::etag::{self, Preconditions, Written};
use crate::follow::{Follow, keep_fresh, tell};
use crate::store::{Check, Commit, CommitError, CommitId, Op, Partition, Store, commit_surely};
use crate::tokens::tenant::TenantId;

/// Where the platform's conditions are kept.
const GLOBAL: &str = "global";

/// How often a write is tried again when others write the same key.
const TRIES: usize = 16;

/// Whose conditions are written.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The platform's.
    Platform,
    /// A tenant's.
    Tenant(&'a TenantId),
}

/// Conditions and projects of everyone.
#[derive(Debug)]
pub struct Conditions {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    global: Arc<Shelf>,
    tenants: RwLock<HashMap<TenantId, Arc<Tenant>>>,
    /// Held by a write that was overtaken, so that those of this host do not overtake each other for ever.
    again: tokio::sync::Mutex<()>,
}

/// What is kept in memory for a tenant.
#[derive(Debug)]
pub struct Tenant {
    id: TenantId,
    shelf: Arc<Shelf>,
    global: Arc<Shelf>,
    sight: arc_swap::ArcSwap<Sight>,
}

impl Tenant {
    /// What the tenant sees now.
    #[must_use]
    pub fn sight(&self) -> Arc<Sight> {
        let sight = self.sight.load_full();
        let (global, own) = (self.global.content(), self.shelf.content());
        if sight.is_of(&global, &own) {
            return sight;
        }
        let sight = Arc::new(Sight::new(&self.id, global, own));
        self.sight.store(Arc::clone(&sight));
        sight
    }

    /// Two watches that change when what the tenant sees may have.
    fn watches(&self) -> [tokio::sync::watch::Receiver<()>; 2] {
        [self.global.watch(), self.shelf.watch()]
    }
}

impl Conditions {
    /// Reads the platform's conditions and keeps them fresh.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn start(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self> {
        let partition = Partition::named(GLOBAL);
        let shelf = Shelf::new(
            Arc::clone(&store),
            Arc::clone(&clock),
            partition,
            Scope::Global,
        );
        let global = Arc::new(shelf);
        global.catch_up().await?;
        keep_fresh(&global);
        Ok(Self {
            store,
            clock,
            global,
            tenants: RwLock::default(),
            again: tokio::sync::Mutex::default(),
        })
    }

    /// What is kept for a tenant; read from the store the first time. Young enough to be served.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn tenant(&self, id: &TenantId) -> Result<Arc<Tenant>> {
        let now = self.clock.now();
        self.global.be_fresh(now).await?;
        let known = self
            .tenants
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned();
        if let Some(known) = known {
            known.shelf.be_fresh(now).await?;
            return Ok(known);
        }
        let shelf = Arc::new(Shelf::new(
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            id.partition(),
            Scope::Tenant,
        ));
        shelf.catch_up().await?;
        let mut tenants = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
        let tenant = tenants.entry(id.clone()).or_insert_with(|| {
            keep_fresh(&shelf);
            let global = Arc::clone(&self.global);
            let sight = Sight::new(id, global.content(), shelf.content());
            let sight = arc_swap::ArcSwap::from_pointee(sight);
            Arc::new(Tenant {
                id: id.clone(),
                shelf,
                global,
                sight,
            })
        });
        Ok(Arc::clone(tenant))
    }

    /// Creates or replaces a condition from a PUT's body.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming what is wrong with the body, [`Error::Conflict`] when a tenant's id is a global one,
    /// [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_condition(
        &self,
        owner: Owner<'_>,
        id: ConditionId,
        body: &[u8],
        preconditions: &Preconditions,
    ) -> Result<(Written, Arc<StoredCondition>)> {
        let scope = match owner {
            Owner::Platform => Scope::Global,
            Owner::Tenant(_) => Scope::Tenant,
        };
        let key = condition_key(id.as_str());
        self.refuse_global(owner, &key).await?;
        let condition = EntityCondition::from_put(id, scope, body)?;
        let stored = StoredCondition::new(condition)?;
        let written = self.put(owner, &key, &stored.json, preconditions).await?;
        Ok((written, Arc::new(stored)))
    }

    /// Deletes a condition.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`] when a tenant's id is a global one, [`Error::Outdated`] when a
    /// precondition does not hold.
    pub async fn delete_condition(
        &self,
        owner: Owner<'_>,
        id: &ConditionId,
        preconditions: &Preconditions,
    ) -> Result<()> {
        let key = condition_key(id.as_str());
        self.refuse_global(owner, &key).await?;
        self.delete(owner, &key, "no condition has this id", preconditions)
            .await
    }

    /// Creates or replaces a project.
    ///
    /// # Errors
    /// [`Error::Outdated`] when a precondition does not hold.
    pub async fn put_project(
        &self,
        tenant: &TenantId,
        project: &StoredProject,
        preconditions: &Preconditions,
    ) -> Result<Written> {
        let (owner, key) = (Owner::Tenant(tenant), project_key(project.id));
        self.put(owner, &key, project.json(), preconditions).await
    }

    /// Deletes a project.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Outdated`] when a precondition does not hold.
    pub async fn delete_project(
        &self,
        tenant: &TenantId,
        id: ProjectId,
        preconditions: &Preconditions,
    ) -> Result<()> {
        let owner = Owner::Tenant(tenant);
        self.delete(
            owner,
            &project_key(id),
            "no project has this id",
            preconditions,
        )
        .await
    }

    /// A tenant can never use an id that a global condition uses (`given.md` 2.1).
    async fn refuse_global(&self, owner: Owner<'_>, key: &str) -> Result<()> {
        if matches!(owner, Owner::Platform) {
            return Ok(());
        }
        let partition = self.global.follower().partition();
        let found = self.store.get(partition, &[key.to_owned()]).await?;
        if found.iter().any(Option::is_some) {
            return Err(Error::Conflict(
                "this id is a global condition's".to_owned(),
            ));
        }
        Ok(())
    }

    async fn put(
        &self,
        owner: Owner<'_>,
        key: &str,
        value: &Bytes,
        preconditions: &Preconditions,
    ) -> Result<Written> {
        let op = Op::Put {
            key: key.to_owned(),
            value: value.clone(),
        };
        let before = self.change(owner, key, op, |current| {
            preconditions.hold(current.map(|text| etag::of_text(text)).as_ref())
        });
        Ok(if before.await? {
            Written::Replaced
        } else {
            Written::Created
        })
    }

    async fn delete(
        &self,
        owner: Owner<'_>,
        key: &str,
        missing: &str,
        preconditions: &Preconditions,
    ) -> Result<()> {
        let op = Op::Delete {
            key: key.to_owned(),
        };
        let change = self.change(owner, key, op, |current| match current {
            None => Err(Error::NotFound(missing.to_owned())),
            Some(current) => preconditions.hold(Some(&etag::of_text(current))),
        });
        change.await.map(drop)
    }

    /// Changes a key as it was when `check` looked at it, and lets memory catch up. Answers whether it was there.
    async fn change(
        &self,
        owner: Owner<'_>,
        key: &str,
        op: Op,
        check: impl Fn(Option<&Bytes>) -> Result<()>,
    ) -> Result<bool> {
        let shelf = match owner {
            Owner::Platform => Arc::clone(&self.global),
            Owner::Tenant(id) => Arc::clone(&self.tenant(id).await?.shelf),
        };
        let partition = shelf.follower().partition();
        let mut alone = None;
        for _ in 0..TRIES {
            let found = self.store.get(partition, &[key.to_owned()]).await?;
            let current = found.into_iter().next().flatten();
            check(current.as_ref().map(|entry| &entry.value))?;
            let still = current.as_ref().map_or_else(
                || Check::Absent(key.to_owned()),
                |entry| Check::At(key.to_owned(), entry.revision),
            );
            let commit = Commit {
                partition: partition.clone(),
                id: CommitId::random(),
                checks: vec![still],
                ops: vec![op.clone(), tell(key)],
            };
            match commit_surely(self.store.as_ref(), commit).await {
                Err(CommitError::Conflict(_)) if alone.is_none() => {
                    alone = Some(self.again.lock().await);
                }
                Err(CommitError::Conflict(_)) => {}
                Err(other) => return Err(other.into()),
                Ok(_) => {
                    shelf.catch_up().await?;
                    return Ok(current.is_some());
                }
            }
        }
        Err(Error::Busy)
    }
}

/// Asks the module about one item and one condition of a tenant's.
///
/// # Errors
/// [`Error::Invalid`] naming what is wrong with the request, [`Error::NotFound`] when no such condition is in force.
pub fn evaluate_condition(
    decider: &Decider,
    sight: &Sight,
    id: &str,
    request: &[u8],
) -> Result<Bytes> {
    Ok(decider.ask(Question::Condition(&sight.conditions, id), request)?)
}

/// Asks the module about one item and the project that the request names.
///
/// # Errors
/// [`Error::Invalid`] naming what is wrong with the request.
pub fn evaluate_project(decider: &Decider, sight: &Sight, request: &[u8]) -> Result<Bytes> {
    let project = named_project(sight, request);
    // A project that is not there is asked of the conditions, which have no project: it is unreachable.
    let source = project
        .as_ref()
        .map_or(&sight.conditions, |project| &project.source);
    Ok(decider.ask(Question::Project(source), request)?)
}

/// Asks the module about a basket.
///
/// # Errors
/// [`Error::Invalid`] naming what is wrong with the request.
pub fn evaluate_basket(decider: &Decider, sight: &Sight, request: &[u8]) -> Result<Bytes> {
    let project = named_project(sight, request);
    let source = project.as_ref().map(|project| &project.source);
    Ok(decider.ask(Question::Basket(&sight.conditions, source), request)?)
}

/// The project that a request names, when the tenant has it. What else is wrong with a request is for the module to say.
fn named_project(sight: &Sight, request: &[u8]) -> Option<Arc<StoredProject>> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "projectId")]
        project_id: Cow<'a, str>,
    }
    let named: Named<'_> = serde_json::from_slice(request).ok()?;
    sight.project(ProjectId::new(&named.project_id)?).cloned()
}
