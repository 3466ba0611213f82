//! All features, and one table of all their routes.

mod asyncapi;
mod described;
mod documents;
mod operations;
mod set_aside;
mod usage;

use std::sync::Arc;

use self::documents::Documents;
use crate::app::App;
use crate::conditions::Conditions;
use crate::egress::{Names, SystemNames};
use crate::error::Result;
use crate::http::{Route, Server, Table};
use crate::rates::Rates;
use crate::tokens::Tokens;
use crate::webhooks::Webhooks;
use crate::{conditions, page, rates, tokens, webhooks};

/// The features, started on what they share.
#[derive(Clone, Debug)]
pub struct Features {
    /// Clients, keys, tokens.
    pub tokens: Arc<Tokens>,
    /// Conditions, projects and decisions.
    pub conditions: Arc<Conditions>,
    /// Exchange rates.
    pub rates: Arc<Rates>,
    /// Webhooks and their identity provider.
    pub webhooks: Arc<Webhooks>,
}

impl Features {
    /// Starts every feature.
    ///
    /// # Errors
    /// When the store is unavailable, or a setting is wrong.
    pub async fn start(app: &Arc<App>) -> Result<Self> {
        Self::start_with(app, Arc::new(SystemNames)).await
    }

    /// The same, with another way to find the addresses of receivers.
    ///
    /// # Errors
    /// When the store is unavailable, or a setting is wrong.
    pub async fn start_with(app: &Arc<App>, names: Arc<dyn Names>) -> Result<Self> {
        Ok(Self {
            tokens: Arc::new(Tokens::start(app).await?),
            conditions: Arc::new(Conditions::start(app).await?),
            rates: Arc::new(Rates::start(app).await?),
            webhooks: Webhooks::start(app, names).await?,
        })
    }

    /// Every route.
    #[must_use]
    pub fn routes(&self, app: &Arc<App>) -> Vec<Route> {
        let mut routes = Vec::new();
        routes.extend(bind(conditions::http::routes(), &self.conditions));
        routes.extend(bind(rates::http::routes(), &self.rates));
        routes.extend(bind(tokens::http::routes(), &self.tokens));
        routes.extend(bind(webhooks::http::routes(), &self.webhooks));
        routes.extend(bind(
            usage::routes(),
            &(
                Arc::clone(&self.conditions),
                Arc::clone(&self.tokens),
                Arc::clone(&self.rates),
                Arc::clone(&self.webhooks),
            ),
        ));
        routes.extend(bind(set_aside::routes(), app));
        routes.extend(bind(page::routes(), app));
        routes.extend(bind(operations::routes(app), app));
        let documents = Documents::new(routes.iter().map(Route::to_described));
        routes.extend(bind(documents::routes(), &documents));
        routes
    }

    /// What answers requests.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn server(&self, app: &Arc<App>) -> Result<Arc<Server>> {
        self.server_with(app, Vec::new())
    }

    /// The same, with more routes.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn server_with(&self, app: &Arc<App>, more: Vec<Route>) -> Result<Arc<Server>> {
        self.serving(app, self.routes(app).into_iter().chain(more))
    }

    /// What answers requests on the address that is for operators alone.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn operations_server(&self, app: &Arc<App>) -> Result<Arc<Server>> {
        self.serving(app, bind(operations::own_routes(), app))
    }

    fn serving(&self, app: &App, routes: impl IntoIterator<Item = Route>) -> Result<Arc<Server>> {
        let table = Table::new(routes, app.metrics.requests())?;
        Ok(Server::new(table, self.tokens.clone(), app))
    }
}

/// A feature's routes, with the feature that they act on.
fn bind<S: Clone + Send + Sync + 'static>(
    routes: Vec<Route<S>>,
    state: &S,
) -> impl Iterator<Item = Route> {
    routes.into_iter().map(|route| route.bind(state))
}
