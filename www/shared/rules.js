/**
 * The rules of a tenant, from the document of its catalog: lists, look-ups, and decisions. Unchanged rules stay the same
 * objects. A decision prepares only the rules that it needs: a page decides about few of thousands, and preparing all of them
 * after each change would take long.
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

  /**
   * The list of `GET /api/v1/entity-conditions`: global conditions and the tenant's; if ids collide, the global one. Sorted by
   * id.
   */
  conditions = [];
  /** The projects, sorted by name. */
  projects = [];
  /** The ids of the conditions that decide, the enabled ones, and of all about a license. */
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

  /** The listed condition with an id, or undefined. */
  condition(id) {
    return this.#global.get(id) ?? this.#tenant.get(id);
  }

  /** The condition with an id that decides, or undefined: the tenant's before the global one. */
  used(id) {
    return [this.#tenant.get(id), this.#global.get(id)].find((condition) => condition?.enabled);
  }

  project(id) {
    return this.#projects.get(id);
  }

  /** A catalog that decides about these conditions and this project like one of all rules. Keeps the last one. */
  catalog(conditionIds, projectId) {
    const ids = [...new Set(conditionIds)];
    const [global, tenant] = [this.#global, this.#tenant].map((kept) => ids.map((id) => kept.get(id)).filter(Boolean));
    const projects = [this.project(projectId)].filter(Boolean);
    // The gaps prevent, for example, mistaking a tenant's condition for a global one.
    const parts = [...global, undefined, ...tenant, undefined, ...projects];
    if (this.#prepared === undefined || sameList(this.#parts, parts) !== this.#parts) {
      this.#prepared = new Catalog({ global, tenant, projects });
      this.#parts = parts;
    }
    return this.#prepared;
  }
}
