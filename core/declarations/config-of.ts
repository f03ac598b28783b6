import type { Diagnostic } from '../contract/index.ts';
import { declaredPrefixes, ENABLED, type Manifest, takesNamedServers } from '../trust/index.ts';
import { didYouMean, slipsOf } from '@pith/plain-text';
import { type Declaration, isGuard, keepsNames } from './declaration.ts';
import type { IsEnabled } from './dependencies.ts';
import { deepFreeze, isPlainMap, overlay, type PlainMap } from '@pith/plain-data';
import { settingName, type Settings } from './settings.ts';

export interface ExtensionConfig {
  /**
   * `config` of the manifest < `extensions.<id>` < the `skills` block: what the manifest claims of it, or, where it provides skills, what
   * nobody claims; and `providers` of the prefixes that it offers < what its manifest's `switches` say that are on the command line. Frozen.
   */
  readonly config: PlainMap;
  readonly enabled: boolean;
  /** What a person granted in the settings; null when they say nothing. */
  readonly isolation: 'in_process' | 'process' | null;
  /** The most memory that its process may hold, in MB; null when the settings do not say. */
  readonly memoryMb: number | null;
  /** Secrets that it may read: those that its manifest declares, and those that the settings name: in `secrets`, in any list called `env`, and for the prefixes that it offers. */
  readonly secrets: readonly string[];
  /** Keys of its settings block that other extensions claim: names that a slip may have meant. */
  readonly claimedElsewhere: readonly string[];
  /** How a message names a key of `config`: `sandbox/pith.yaml:12 skills.poll_seconds` or `manifest.yaml:9 config.limit`. */
  where(dotted: string): string;
}

export interface ConfigGiven {
  /** What is on the command line after two dashes. */
  readonly switches?: readonly string[] | undefined;
  /** Prefixes of models whose key goes to no stranger: something that ships offers them, or several extensions do. */
  readonly prefixes?: ReadonlySet<string>;
  /** All prefixes that manifests declare: others of the block `providers` are servers that a person named. */
  readonly declared?: ReadonlySet<string>;
  /** Keys of the block `skills` that extensions claim, each with their ids. */
  readonly claims?: Claims;
}

/** What manifest, settings and the switches of the command line together say about an extension. Of a broken manifest only the settings count. */
export function configOf(
  declaration: Declaration,
  settings: Settings,
  { switches = [], prefixes, declared, claims = NOTHING_CLAIMED }: ConfigGiven = {},
): ExtensionConfig {
  const { id, shipped, manifest } = declaration;
  const block = settings.extensions[id] ?? {};
  const slips = misspelt(block, COMMON_KEYS, manifest);
  const { enabled: _, isolation = keptInProcess(slips, block), memory_mb: memoryMb = null, secrets: granted = [], ...rest } = block;
  const own = withoutKeys(rest, slips);
  const providesSkills = manifest?.provides.includes('skill') ?? false;
  const isClaimed = (key: string) => claims.get(key)?.includes(id) ?? providesSkills;
  const skills = Object.fromEntries(Object.entries(settings.skills).filter(([key]) => isClaimed(key)));
  const claimsSkills = providesSkills || [...claims.values()].flat().includes(id);
  const offered = providersOf(declaration, settings, declared);
  const claimed = { ...skills, ...(offered.length === 0 ? {} : { providers: Object.fromEntries(offered) }) };
  const switched = (manifest?.switches ?? []).filter(({ name }) => switches.includes(name)).map((each) => each.config);
  const merged = [own, claimed, ...switched].reduce<PlainMap>((below, above) => overlay(below, above), manifest?.config ?? {});
  return {
    config: deepFreeze(structuredClone(merged)),
    enabled: enabledBy(settings)(declaration),
    isolation,
    memoryMb,
    secrets: [
      ...new Set([
        ...(manifest?.secrets ?? []),
        ...granted,
        ...namedIn(own),
        // A claim is no agreement: whoever says that it provides skills, or models under a prefix of others, is given none of their names.
        ...(shipped ? namedIn(claimed) : []),
        ...offered.flatMap(([prefix, { api_key_env: name }]) => (name === undefined || (!shipped && prefixes?.has(prefix)) ? [] : name)),
      ]),
    ],
    claimedElsewhere: providesSkills ? [...claims.keys()] : [],
    where(dotted) {
      if (dotted.startsWith('providers.') && isSet(settings, dotted)) return settingName(settings, dotted);
      const [key = ''] = dotted.split('.');
      const sections = claimsSkills && isClaimed(key) ? ['skills', `extensions.${id}`] : [`extensions.${id}`];
      for (const section of sections) if (isSet(settings, `${section}.${dotted}`)) return settingName(settings, `${section}.${dotted}`);
      const position = declaration.positions?.[`config.${dotted}`];
      if (position !== undefined) return `${declaration.file}:${position[0]} config.${dotted}`;
      return `${sections[0]}.${dotted}`;
    },
  };
}

/** By the last part of each setting the ids of the extensions that are given it. */
export type Claims = ReadonlyMap<string, readonly string[]>;

const NOTHING_CLAIMED: Claims = new Map();

/** What extensions claim of the block `skills`. A stranger's claim would take a safeguard away from who checks it. */
export function claimsOf(declarations: Iterable<Declaration>): Claims {
  const found = new Map<string, readonly string[]>();
  for (const declaration of declarations) {
    const claims = keepsNames(declaration) ? (declaration.manifest?.claims ?? []) : [];
    for (const claim of claims) {
      const key = claim.slice(claim.indexOf('.') + 1);
      found.set(key, [...(found.get(key) ?? []), declaration.id]);
    }
  }
  return found;
}

/** Extensions for which the settings hold config: only their code knows whether it is right. */
export function configuredIds(settings: Settings, declarations: ReadonlyMap<string, Declaration>): readonly string[] {
  const claims = claimsOf(declarations.values());
  const claimed = Object.keys(settings.skills).flatMap((key) => claims.get(key) ?? []);
  const declared = declaredPrefixes(declarations.values());
  const isConfigured = (declaration: Declaration): boolean =>
    claimed.includes(declaration.id) ||
    Object.keys(settings.extensions[declaration.id] ?? {}).some((key) => !(key in COMMON_KEYS)) ||
    providersOf(declaration, settings, declared).length > 0;
  return [...declarations.values()].filter(isConfigured).map(({ id }) => id);
}

/** Variables that a person lets an extension hand on: the names in lists called `env`, wherever in its settings they are. */
function namedIn(value: unknown): readonly string[] {
  if (!isPlainMap(value)) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'env' && Array.isArray(each) ? each.filter((name): name is string => typeof name === 'string') : namedIn(each),
  );
}

/** The settings' word on whether something runs, else its manifest's. Where that word cannot be read, only guards do. For `discover`. */
export function enabledBy(settings: Settings): IsEnabled {
  return ({ id, manifest, guard }) => {
    const block = settings.extensions[id] ?? {};
    const isSlip = misspelt(block, COMMON_KEYS, manifest).some(([key, name]) => name === 'enabled' && block[key] !== true);
    const word: Switch | undefined = block.enabled !== undefined ? block.enabled : isSlip ? null : manifest?.enabled;
    return word === undefined || (word ?? isGuard({ guard }));
  };
}

/** null: it cannot be read. */
type Switch = boolean | null;

type Slips = ReturnType<typeof misspelt>;

function keptInProcess(slips: Slips, block: PlainMap): 'process' | null {
  return slips.some(([key, name]) => name === 'isolation' && block[key] !== 'in_process') ? 'process' : null;
}

function withoutKeys<T extends PlainMap>(block: T, slips: Slips): T {
  return Object.fromEntries(Object.entries(block).filter(([key]) => !slips.some(([slip]) => slip === key))) as T;
}

/** What every block `extensions.<id>` may hold beside the extension's own config, with an example of each. */
const COMMON_KEYS: PlainMap = { enabled: false, isolation: 'process', memory_mb: 64, secrets: [] };
const MOST_WRONG = 2;

/** What every block `providers.<prefix>` may hold. */
const PROVIDER_KEYS: PlainMap = { base_url: '', api_key_env: '' };

/** What of these keeps something back. */
const NARROWING: readonly string[] = ['enabled', 'isolation'];

/**
 * Keys that are no config of the extension's manifest and are close to one that every such block may hold: one that keeps something back,
 * or one with a value of its kind, because an option without a default is only in the class, which is not loaded yet, and `secret: x` is
 * no list of secrets.
 */
function misspelt(block: PlainMap, common: PlainMap, manifest: Manifest | null): readonly (readonly [key: string, name: string])[] {
  return Object.entries(block).flatMap(([key, value]) => {
    if (key in common || key in (manifest?.config ?? {})) return [];
    const name = Object.keys(common).find(
      (known) =>
        slipsOf(key, [known], MOST_WRONG).length > 0 &&
        (NARROWING.includes(known) ? typeof value !== 'object' : isAlike(value, common[known])),
    );
    return name === undefined ? [] : [[key, name] as const];
  });
}

function isAlike(a: unknown, b: unknown): boolean {
  return typeof a === typeof b && Array.isArray(a) === Array.isArray(b);
}

/** Findings for misspelt keys of `extensions.<id>` and `providers.<prefix>`. What keeps something back counts: nothing runs that a person switched off. */
export function misspeltSettings(
  settings: Settings,
  declarations: ReadonlyMap<string, Pick<Declaration, 'manifest'>>,
): readonly Diagnostic[] {
  const find = (section: string, block: PlainMap, common: PlainMap, manifest: Manifest | null = null) =>
    misspelt(block, common, manifest).map(([key, name]): Diagnostic => {
      const narrow = {
        enabled: block[key] === true ? undefined : 'false',
        isolation: block[key] === 'in_process' ? undefined : "'process'",
      }[name];
      const counts = name in block ? undefined : narrow;
      const what =
        counts === undefined
          ? `unknown key '${key}' in '${section}' is ignored (did you mean '${name}'?)`
          : `'${section}.${key}' must be written '${name}'; it counts as ${counts}${name === 'enabled' ? `, and ${ENABLED.and}` : ''}`;
      return {
        severity: 'warning',
        code: 'unknown_key',
        message: `${placeIn(settings, section, key)}${what}`,
        cure: 'correct the key',
      };
    });
  return [
    ...Object.entries(settings.extensions).flatMap(([id, block]) =>
      find(`extensions.${id}`, block, COMMON_KEYS, declarations.get(id)?.manifest),
    ),
    ...Object.entries(settings.providers).flatMap(([prefix, block]) => find(`providers.${prefix}`, block, PROVIDER_KEYS)),
  ];
}

/** `sandbox/pith.yaml:3: `, or nothing for what is in no file. */
function placeIn(settings: Settings, section: string, key: string): string {
  const [origin, dotted] = settingName(settings, `${section}.${key}`).split(/ (?=\S+$)/u);
  return dotted === undefined ? '' : `${origin}: `;
}

/** What an `extensions.<id>` block of a misspelt id keeps back. */
function keptBackBy({ enabled = true, isolation }: Settings['extensions'][string]): PlainMap {
  return { ...(!enabled && { enabled: null satisfies Switch }), ...(isolation === 'process' && { isolation }) };
}

/** With what a block keeps back counting for the ids that its own, which nothing declares, is a slip of; their own blocks come first. */
export function withIdsMeant(settings: Settings, declared: readonly string[]): Settings {
  let { extensions } = settings;
  for (const [id, block] of Object.entries(extensions)) {
    const kept = declared.includes(id) ? {} : keptBackBy(block);
    if (Object.keys(kept).length === 0) continue;
    for (const meant of slipsOf(id, declared)) extensions = { ...extensions, [meant]: { ...kept, ...extensions[meant] } };
  }
  return extensions === settings.extensions ? settings : { ...settings, extensions };
}

/** Findings for `extensions.<id>` blocks that belong to nothing declared. */
export function unknownExtensionSettings(settings: Settings, ids: Iterable<string>): readonly Diagnostic[] {
  const known = new Set(ids);
  const hintOn = (id: string, kept: readonly string[]) => {
    const isNew = (meant: string) => (key: string) => !(key in (settings.extensions[meant] ?? {}));
    const counts = slipsOf(id, known).map((meant) => ({ meant, keys: kept.filter(isNew(meant)).join("' and '") }));
    const texts = [...new Set(counts.flatMap(({ keys }) => keys || []))].map((keys) => {
      const ids = counts.filter((each) => each.keys === keys).map(({ meant }) => `'${meant}'`);
      return `its '${keys}' counts for ${ids.join(' and ')}${keys.startsWith('enabled') ? `, and ${ENABLED.and}` : ''}`;
    });
    return texts.length > 0 ? `; ${texts.join(', ')}` : didYouMean(id, known);
  };
  return Object.entries(settings.extensions)
    .filter(([id]) => !known.has(id))
    .map(([id, block]) => ({
      severity: 'warning',
      code: 'unknown_key',
      cure: 'correct the id or remove the block',
      message: `${settingName(settings, `extensions.${id}`)}: nothing declares '${id}'${hintOn(id, Object.keys(keptBackBy(block)))}`,
    }));
}

function providersOf(declaration: Pick<Declaration, 'manifest' | 'shipped'>, settings: Settings, declared?: ReadonlySet<string>) {
  const own = declaredPrefixes([declaration]);
  const takesOthers = declared !== undefined && takesNamedServers(declaration);
  return Object.entries(settings.providers)
    .filter(([prefix]) => own.has(prefix) || (takesOthers && !declared.has(prefix)))
    .map(([prefix, block]) => {
      return [prefix, withoutKeys(block, misspelt(block, PROVIDER_KEYS, null))] as const; // said once, of the settings
    });
}

function isSet(settings: Settings, dotted: string): boolean {
  const parts = dotted.split('.');
  for (let length = parts.length; length > 1; length -= 1) {
    const section = parts.slice(0, length).join('.');
    if (settings.origins[section] !== undefined) return length === parts.length || !hasBelow(settings, section);
  }
  return false;
}

/** A section that is set key by key says nothing of the keys that it does not have; a list that is set says all of its items. */
function hasBelow(settings: Settings, section: string): boolean {
  return Object.keys(settings.origins).some((dotted) => dotted.startsWith(`${section}.`));
}
