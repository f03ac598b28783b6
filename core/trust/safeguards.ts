/** Settings as they stand in a file. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Of the settings of a sandbox that nobody trusts: those that can neither run, send nor loosen anything. Everything that is not named here
 * is left out, also what later versions add.
 */
export function harmlessSettings(values: Values): Values {
  const skills = mapOf(values['skills']);
  const kept = Object.fromEntries(['enabled', 'disabled'].flatMap((key) => (skills[key] === undefined ? [] : [[key, skills[key]]])));
  return {
    ...(values['approvals'] === undefined ? {} : { approvals: { tools: textsOf(mapOf(values['approvals'])['tools']) } }),
    ...(Object.keys(kept).length === 0 ? {} : { skills: kept }),
  };
}

export interface Loosened {
  /** The dotted path of the setting. */
  readonly setting: string;
  /** What it allows, as a person reads it. */
  readonly effect: string;
}

/** Which settings of a sandbox take a safeguard away that `base`, the person's own settings, has. */
export function loosened(values: Values, base: Values = {}): readonly Loosened[] {
  const found: Loosened[] = [];
  if (values['extensions_sandbox'] === 'off')
    found.push({ setting: 'extensions_sandbox', effect: 'processes of extensions run without a sandbox' });
  for (const [id, settings] of Object.entries(mapOf(values['extensions'])))
    if (mapOf(settings)['isolation'] === 'in_process')
      found.push({ setting: `extensions.${id}.isolation`, effect: `${id} runs inside Pith and can do all that you can` });
  const asked = textsOf(mapOf(base['approvals'])['tools']);
  const tools = mapOf(values['approvals'])['tools'];
  const gone = tools === undefined || textsOf(tools).includes('*') ? [] : asked.filter((tool) => !textsOf(tools).includes(tool));
  if (gone.length > 0) found.push({ setting: 'approvals.tools', effect: `you are not asked about ${gone.join(', ')}` });
  const { scripts, trust, trusted_links: links, private_origins: origins } = mapOf(values['skills']);
  if (mapOf(scripts)['sandbox'] === 'none')
    found.push({ setting: 'skills.scripts.sandbox', effect: 'scripts of skills run without a sandbox' });
  if (mapOf(scripts)['approval'] === 'never')
    found.push({ setting: 'skills.scripts.approval', effect: 'scripts of skills run without a question' });
  if (trust === 'auto') found.push({ setting: 'skills.trust', effect: 'changed texts of trusted skills are taken without a question' });
  if (textsOf(origins).length > 0)
    found.push({ setting: 'skills.private_origins', effect: `updates of skills may come from ${textsOf(origins).join(', ')}` });
  if (textsOf(links).length > 0)
    found.push({ setting: 'skills.trusted_links', effect: `links of skills may lead to ${textsOf(links).join(', ')}` });
  return found;
}

/** What settings run and where they send: commands, addresses, and names of secrets, wherever in `providers`, `extensions` and `skills` they stand. */
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
      if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) addresses.add(value);
      if (key === 'api_key_env') secrets.add(value);
      for (const [, name = ''] of value.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/g)) secrets.add(name);
    } else if (Array.isArray(value)) {
      for (const each of value) {
        if (key === 'secrets' && typeof each === 'string') secrets.add(each);
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

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
