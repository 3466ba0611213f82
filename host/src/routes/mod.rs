//! All features, and one table of the routes that this host serves. Every feature is started whatever the roles of a
//! host, because one checks callers, and some add to what others write.

mod asyncapi;
mod dead_letters;
mod documents;
mod operations;
mod ready;
mod usage;

use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_base::config::Role;
use tillgate_base::egress::{Names, SystemNames};
use tillgate_base::error::Result;
use tillgate_http::{Route, Server, Table};
use tillgate_rates as rates;
use tillgate_rates::Rates;
use tillgate_rules as conditions;
use tillgate_rules::Conditions;
use tillgate_rules::decision_log::DecisionLog;
use tillgate_tokens as tokens;
use tillgate_tokens::Tokens;
use tillgate_webhooks as webhooks;
use tillgate_webhooks::Webhooks;

use self::documents::Documents;
use crate::page;

/// The features, started on the app that they share.
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
    /// Starts every feature, with the decision log that this host writes, if it writes one.
    ///
    /// # Errors
    /// When the store is unavailable, or a setting is wrong.
    pub async fn start(app: &Arc<App>, decision_log: Option<Arc<DecisionLog>>) -> Result<Self> {
        Self::start_with(app, decision_log, Arc::new(SystemNames)).await
    }

    /// Starts every feature, with `names` to find the addresses of receivers.
    ///
    /// # Errors
    /// When the store is unavailable, or a setting is wrong.
    pub async fn start_with(
        app: &Arc<App>,
        decision_log: Option<Arc<DecisionLog>>,
        names: Arc<dyn Names>,
    ) -> Result<Self> {
        Ok(Self {
            tokens: Arc::new(Tokens::start(app).await?),
            conditions: Arc::new(Conditions::start(app, decision_log).await?),
            rates: Arc::new(Rates::start(app).await?),
            webhooks: Webhooks::start(app, names).await?,
        })
    }

    /// Returns the routes of this host's roles, and those for its operators.
    #[must_use]
    pub fn routes(&self, app: &Arc<App>) -> Vec<Route> {
        let mut routes = Vec::new();
        for role in Role::ALL {
            if app.config.roles.has(role) {
                routes.extend(self.routes_of(role, app));
            }
        }
        routes.extend(bind(operations::routes(app), app));
        let documents = Documents::new(routes.iter().map(Route::to_described));
        routes.extend(bind(documents::routes(), &documents));
        routes
    }

    fn routes_of(&self, role: Role, app: &Arc<App>) -> Vec<Route> {
        let all = || {
            let (conditions, tokens) = (Arc::clone(&self.conditions), Arc::clone(&self.tokens));
            let (rates, webhooks) = (Arc::clone(&self.rates), Arc::clone(&self.webhooks));
            (conditions, tokens, rates, webhooks)
        };
        match role {
            Role::Token => {
                let tokens = bind(tokens::http::routes(), &self.tokens);
                tokens.chain(bind(usage::routes(), &all())).collect()
            }
            Role::Conditions => bind(conditions::http::routes(), &self.conditions).collect(),
            Role::Rates => bind(rates::http::routes(), &self.rates).collect(),
            Role::Webhooks => bind(webhooks::http::routes(), &self.webhooks).collect(),
            Role::Page => bind(page::routes(), app).collect(),
            Role::Workers => bind(dead_letters::routes(), app).collect(),
        }
    }

    /// Returns the server that answers requests.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn server(&self, app: &Arc<App>) -> Result<Arc<Server>> {
        self.server_with(app, Vec::new())
    }

    /// Returns the server that answers requests, with more routes.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn server_with(&self, app: &Arc<App>, more: Vec<Route>) -> Result<Arc<Server>> {
        let table = Table::new(
            self.routes(app).into_iter().chain(more),
            app.metrics.requests(),
        )?;
        Ok(self.serving(app, table.with_cors(&app.config.cors)))
    }

    /// Returns the server of the address that is only for operators.
    ///
    /// # Errors
    /// When two routes contradict each other.
    pub fn operations_server(&self, app: &Arc<App>) -> Result<Arc<Server>> {
        let routes = bind(operations::own_routes(), app);
        let table = Table::new(routes, app.metrics.requests())?;
        Ok(self.serving(app, table))
    }

    fn serving(&self, app: &App, table: Table) -> Arc<Server> {
        Server::new(table, self.tokens.clone(), app)
    }
}

/// Binds a feature's routes to the feature that they act on.
fn bind<S: Clone + Send + Sync + 'static>(
    routes: Vec<Route<S>>,
    state: &S,
) -> impl Iterator<Item = Route> {
    routes.into_iter().map(|route| route.bind(state))
}
