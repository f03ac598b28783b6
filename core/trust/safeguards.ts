/** Settings of a file, or merged ones. */
type Values = Readonly<Record<string, unknown>>;

export interface Weakened {
  /** The dotted path of the setting. */
  readonly setting: string;
  /** What it allows, in words for a person. */
  readonly effect: string;
}

/** How a sandbox's value of a setting compares with the person's own value. */
interface Safeguard {
  readonly setting: string;
  /** What it allows that the person's own value does not; null: nothing more. */
  weakens?(value: unknown, own: unknown): string | null;
  /** The value in an untrusted sandbox: never weaker than the person's own. Absent: the setting is ignored there. */
  tightens?(value: unknown, own: unknown): unknown;
}

/** Every setting that affects questions, confinement or what is switched off. In an untrusted sandbox, all other settings are ignored. */
const SAFEGUARDS: readonly Safeguard[] = [
  {
    setting: 'extensions_sandbox',
    weakens: (value, own) => (value === 'off' && own !== 'off' ? 'processes of extensions run without a sandbox' : null),
  },
  {
    setting: 'approvals.tools',
    weakens(value, own) {
      const gone = textsOf(own).filter((tool) => !textsOf(value).some((other) => covers(other, tool)));
      return gone.length === 0 ? null : `you are not asked about ${gone.join(', ')}`;
    },
    tightens: union,
  },
  { setting: 'skills.enabled', tightens: (value, own) => (value === false ? false : own) },
  { setting: 'skills.disabled', tightens: union },
  {
    setting: 'skills.scripts.sandbox',
    weakens: (value, own) => (value === 'none' && own !== 'none' ? 'scripts of skills run without a sandbox' : null),
  },
  {
    setting: 'skills.scripts.approval',
    weakens: (value, own) => (value === 'never' && own !== 'never' ? 'scripts of skills run without a question' : null),
  },
  {
    setting: 'skills.trust',
    weakens: (value, own) => (value === 'auto' && own === 'ask' ? 'changed texts of trusted skills are taken without a question' : null),
  },
  { setting: 'skills.trusted_links', weakens: (value, own) => more('links of skills may lead to', value, own) },
  { setting: 'skills.private_origins', weakens: (value, own) => more('updates of skills may come from', value, own) },
  { setting: 'skills.scripts.env', weakens: (value, own) => more('scripts of skills get the variables', value, own) },
  {
    setting: 'quotas',
    weakens(value, own) {
      const raised = Object.entries(mapOf(value)).filter(([name, amount]) => Number(amount) > Number(mapOf(own)[name] ?? Infinity));
      return raised.length === 0
        ? null
        : `extensions may keep more: ${raised.map(([name, amount]) => `${name} ${String(amount)}`).join(', ')}`;
    },
  },
];

/** The paths of settings that count in an untrusted sandbox, as far as they tighten. */
export const HARMLESS_SETTINGS: readonly string[] = SAFEGUARDS.flatMap(({ setting, tightens }) => (tightens ? [setting] : []));

/** The settings of an untrusted sandbox that can neither run, send nor weaken anything, merged with `own`, the person's. */
export function harmlessSettings(values: Values, own: Values): Values {
  let kept: Values = {};
  for (const { setting, tightens } of SAFEGUARDS) {
    const value = at(values, setting);
    const held = value === undefined ? undefined : tightens?.(value, at(own, setting));
    if (held !== undefined) kept = put(kept, setting.split('.'), held);
  }
  return kept;
}

/** The settings of a sandbox that allow what `own`, the person's, do not. */
export function weakened(values: Values, own: Values = {}): readonly Weakened[] {
  const isolated = Object.entries(mapOf(values['extensions'])).flatMap(([id, settings]): readonly Weakened[] => {
    const setting = `extensions.${id}.isolation`;
    if (mapOf(settings)['isolation'] !== 'in_process' || at(own, setting) === 'in_process') return [];
    return [{ setting, effect: `${id} runs inside Pith and can do all that you can` }];
  });
  const others = SAFEGUARDS.flatMap(({ setting, weakens }): readonly Weakened[] => {
    const value = at(values, setting);
    const effect = value === undefined ? null : (weakens?.(value, at(own, setting)) ?? null);
    return effect === null ? [] : [{ setting, effect }];
  });
  return [...isolated, ...others];
}

/** What settings run and where they send: commands, addresses, and names of secrets, anywhere in `providers`, `extensions` and `skills`. */
export function reached(values: Values): {
  readonly commands: readonly string[];
  readonly addresses: readonly string[];
  readonly secrets: readonly string[];
} {
  const commands = new Set<string>();
  const addresses = new Set<string>();
  const secrets = new Set<string>();
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (ADDRESS_KEYS.test(key) || /[a-z][a-z0-9+.-]*:\/\//i.test(value)) addresses.add(value);
      if (key === 'api_key_env') secrets.add(value);
      for (const [, name = ''] of value.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g)) secrets.add(name);
    } else if (Array.isArray(value)) {
      for (const each of value) {
        if (NAMES_OF_SECRETS.has(key) && typeof each === 'string') secrets.add(each);
        walk(each, key);
      }
    } else {
      const map = mapOf(value);
      if (typeof map['command'] === 'string') commands.add([map['command'], ...textsOf(map['args'])].join(' '));
      for (const [name, each] of Object.entries(map)) walk(each, name);
    }
  };
  for (const section of ['providers', 'extensions', 'skills']) walk(values[section], section);
  return { commands: [...commands], addresses: [...addresses], secrets: [...secrets] };
}

/** Values of these keys count as addresses, since a URL parser accepts more than an expression can match. */
const ADDRESS_KEYS = /(?:^|_)(?:url|uri|address|endpoint|host|origin)$/i;

/** Keys whose lists name variables or secrets. */
const NAMES_OF_SECRETS: ReadonlySet<string> = new Set(['secrets', 'env', 'pass']);

/** Whether a request for `entry` includes `tool`: "*" includes all, an extension its tools. */
function covers(entry: string, tool: string): boolean {
  return entry === '*' || entry === tool || tool.startsWith(`${entry}/`);
}

function union(value: unknown, own: unknown): readonly string[] {
  return [...new Set([...textsOf(own), ...textsOf(value)])];
}

function more(effect: string, value: unknown, own: unknown): string | null {
  const added = textsOf(value).filter((each) => !textsOf(own).includes(each));
  return added.length === 0 ? null : `${effect} ${added.join(', ')}`;
}

function at(values: Values, setting: string): unknown {
  return setting.split('.').reduce<unknown>((found, key) => mapOf(found)[key], values);
}

function put(values: Values, [key = '', ...below]: readonly string[], value: unknown): Values {
  return { ...values, [key]: below.length === 0 ? value : put(mapOf(values[key]), below, value) };
}

function mapOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
