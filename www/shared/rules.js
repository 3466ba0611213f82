/**
 * The rules of a tenant as the document of its catalog has them: lists, look-ups, and decisions. What has not changed from
 * one document to the next is the same object. A decision prepares only the rules that it needs: a page decides about few of
 * thousands, and preparing all of them after each change of one would take long.
 */

import { Catalog } from "../../js/src/catalog/catalog.js";
import { Kept, sameList } from "./kept.js";
import { compareNames } from "./locale.js";

const idOf = ({ id }) => id;
const byId = (one, other) => compareNames(one.id, other.id);
const byName = (one, other) => compareNames(one.name || one.projectId, other.name || other.projectId, one.projectId, other.projectId);

export class Rules {
  #global = new Kept(idOf);
  #tenant = new Kept(idOf);
  #projects = new Kept(({ projectId }) => projectId);
  #prepared;
  #parts = [];

  /** What `GET /api/v1/entity-conditions` lists: global conditions and the tenant's; if ids collide, the global one. Sorted by id. */
  conditions = [];
  /** The projects, sorted by name. */
  projects = [];
  /** The ids of the conditions that decisions use, which are the enabled ones, and of all that are about a license. */
  inForce = [];
  licenses = [];
  digest;

  /** Takes the answer of `GET /api/v1/catalog`. */
  update({ digest, global, tenant, projects = [] }) {
    const [ofAll, own] = [this.#global.update(global), this.#tenant.update(tenant)];
    const conditions = [...ofAll, ...own.filter(({ id }) => this.#global.get(id) === undefined)].sort(byId);
    const enabled = new Set([...ofAll, ...own].filter((condition) => condition.enabled).map(idOf));
    this.conditions = sameList(this.conditions, conditions);
    this.projects = sameList(this.projects, this.#projects.update(projects).sort(byName));
    this.inForce = sameList(this.inForce, [...enabled].sort((one, other) => compareNames(one, other)));
    this.licenses = sameList(this.licenses, conditions.filter(({ rule }) => rule === "LICENSE_REQUIREMENT").map(idOf));
    this.digest = digest;
  }

  /** The condition of the list with an id, or undefined. */
  condition(id) {
    return this.#global.get(id) ?? this.#tenant.get(id);
  }

  /** The condition with an id that decisions use, or undefined: the tenant's before the global one. */
  used(id) {
    return [this.#tenant.get(id), this.#global.get(id)].find((condition) => condition?.enabled);
  }

  project(id) {
    return this.#projects.get(id);
  }

  /** A catalog that decides about these conditions and this project as one of all rules would. It keeps the last one. */
  catalog(conditionIds, projectId) {
    const ids = [...new Set(conditionIds)];
    const [global, tenant] = [this.#global, this.#tenant].map((kept) => ids.map((id) => kept.get(id)).filter(Boolean));
    const projects = [this.project(projectId)].filter(Boolean);
    // The gaps keep, for instance, a condition of the tenant from being taken for a global one.
    const parts = [...global, undefined, ...tenant, undefined, ...projects];
    if (this.#prepared === undefined || sameList(this.#parts, parts) !== this.#parts) {
      this.#prepared = new Catalog({ global, tenant, projects });
      this.#parts = parts;
    }
    return this.#prepared;
  }
}
