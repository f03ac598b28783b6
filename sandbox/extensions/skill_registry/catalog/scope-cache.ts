import type { AgentSpec } from 'pith';
import type { Snapshot } from '../skill.ts';
import { renderCatalog, type Catalog } from './catalog.ts';
import { scopeOf, type SkillScope } from './scope.ts';
import { catalogBudget } from './token-estimate.ts';

interface Entry {
  readonly snapshot: Snapshot;
  readonly scope: SkillScope;
  /** By the model's context window. */
  readonly catalogs: Map<number | null, Catalog>;
  /** What else was made of it, by name. */
  readonly made: Map<string, unknown>;
}

const ENTRIES = 256;

/** Scopes and catalogs by agent, made once per snapshot: an unchanged turn pays for a look-up. */
export class ScopeCache {
  readonly #entries = new Map<string, Entry>();

  scope(snapshot: Snapshot, agent: AgentSpec): SkillScope {
    return this.#entry(snapshot, agent).scope;
  }

  /** The scope, and its catalog for a model's window. */
  view(snapshot: Snapshot, agent: AgentSpec, contextWindow: number | null): { readonly scope: SkillScope; readonly catalog: Catalog } {
    const { scope, catalogs } = this.#entry(snapshot, agent);
    let catalog = catalogs.get(contextWindow);
    if (catalog === undefined) {
      const budget = scope.settings.budget_tokens ?? catalogBudget(contextWindow);
      catalog = renderCatalog(scope.catalog, { budget, pinned: scope.pinned });
      catalogs.set(contextWindow, catalog);
    }
    return { scope, catalog };
  }

  /** What `make` makes for this agent of this snapshot, made once for each `name`. */
  made<T>(snapshot: Snapshot, agent: AgentSpec, name: string, make: () => T): T {
    const { made } = this.#entry(snapshot, agent);
    if (!made.has(name)) made.set(name, make());
    return made.get(name) as T;
  }

  #entry(snapshot: Snapshot, agent: AgentSpec): Entry {
    const key = keyOf(agent);
    let entry = this.#entries.get(key);
    if (entry?.snapshot !== snapshot) {
      entry = { snapshot, scope: scopeOf(snapshot, agent), catalogs: new Map(), made: new Map() };
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      for (const oldest of this.#entries.keys()) {
        if (this.#entries.size <= ENTRIES) break;
        this.#entries.delete(oldest);
      }
    }
    return entry;
  }
}

/** What of an agent the catalog depends on: an agent made at run time may have the id of another. */
function keyOf({ id, keys, usesSkills }: AgentSpec): string {
  return JSON.stringify([id, keys.skills ?? null, usesSkills]);
}
