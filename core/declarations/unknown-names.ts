import { codeOf, type Diagnostic, messageOf, PithError } from '../contract/index.ts';
import { isDynamic, type Declaration } from './declaration.ts';
import { didYouMean } from '@pith/plain-text';
import { declaredPrefixes, takesNamedServers } from '../trust/index.ts';
import { misspeltSettings, unknownExtensionSettings } from './config-of.ts';
import { DEFAULT_SETTINGS, settingName, type Settings } from './settings.ts';

export interface KnownNames {
  readonly declarations: ReadonlyMap<string, Pick<Declaration, 'manifest' | 'shipped' | 'file' | 'positions'>>;
  /** Those that are switched on. */
  readonly agents: readonly { readonly id: string }[];
  /** `check` throws when nothing goes by a model's name. */
  readonly router: { check(reference: string): void };
  /** Names of the tools of an extension, as far as they are known without loading it. */
  toolsOf(extensionId: string): readonly string[];
}

/** Findings for names in the settings that nothing goes by: blocks of extensions and of providers, the default agent, what model aliases stand for, tools that need approval. */
export function unknownNames(settings: Settings, names: KnownNames): readonly Diagnostic[] {
  const { declarations, agents, router } = names;
  return [
    ...unknownExtensionSettings(settings, declarations.keys()),
    ...misspeltSettings(settings, declarations),
    ...unknownProviders(settings, declarations),
    ...misspeltDependencies(declarations),
    ...unknownAgent(
      settings,
      agents.map(({ id }) => id),
    ),
    ...unknownModels(settings, router),
    ...unknownTools(settings, names),
  ];
}

/** What is optional may be absent; only a name that is close to another one is a slip. */
function misspeltDependencies(declarations: KnownNames['declarations']): readonly Diagnostic[] {
  return [...declarations.values()].flatMap(({ manifest, file, positions }) =>
    (manifest?.optional_depends_on ?? []).flatMap((id, index): readonly Diagnostic[] => {
      const hint = declarations.has(id) ? '' : didYouMean(id, declarations.keys());
      const line = positions?.[`optional_depends_on.${index}`]?.[0] ?? 1;
      const message = `optional_depends_on '${id}': nothing declares it${hint}`;
      return hint === '' ? [] : [{ severity: 'warning', code: 'name_unknown', message, file, line, cure: 'correct the name' }];
    }),
  );
}

function unknownProviders(settings: Settings, declarations: KnownNames['declarations']): readonly Diagnostic[] {
  const prefixes = [...declaredPrefixes(declarations.values())].sort();
  const takesOthers = [...declarations.values()].some(takesNamedServers);
  return Object.entries(settings.providers)
    .filter(
      ([prefix, block]) =>
        !prefixes.includes(prefix) && !(takesOthers && block.base_url !== undefined && didYouMean(prefix, prefixes) === ''),
    )
    .map(([prefix]) => {
      const hint = didYouMean(prefix, prefixes) || (prefixes.length === 0 ? '' : ` (there are ${prefixes.join(', ')})`);
      const message = `${settingName(settings, `providers.${prefix}`)}: no extension offers models under '${prefix}'${hint}`;
      return { severity: 'warning', code: 'unknown_key', message, cure: 'correct the name or remove the block' };
    });
}

function unknownAgent(settings: Settings, agents: readonly string[]): readonly Diagnostic[] {
  const { default_agent: name, origins } = settings;
  if (origins['default_agent'] === undefined || agents.includes(name)) return [];
  return [
    {
      severity: 'error',
      code: 'agent_unknown',
      message: `${settingName(settings, 'default_agent')}: there is no agent '${name}', or it is switched off${didYouMean(name, agents)}`,
      cure: `correct the name, or add the agent; until then '${DEFAULT_SETTINGS.default_agent}' answers`,
    },
  ];
}

/** What a person is asked about. An entry that is a slip of a name would ask nobody, so that it counts as all. */
export function askedAlways(settings: Settings, names: Pick<KnownNames, 'declarations' | 'toolsOf'>): readonly string[] {
  const isSlip = unknownTools(settings, names).some(({ severity }) => severity === 'error');
  return isSlip ? ['*'] : settings.approvals.tools;
}

/** A name that is close to none may be that of another sandbox, or of a server that is not there: it is a warning. */
function unknownTools(settings: Settings, { declarations, toolsOf }: Pick<KnownNames, 'declarations' | 'toolsOf'>): readonly Diagnostic[] {
  const offering = [...declarations].flatMap(([id, { manifest }]) => (manifest?.provides.includes('tool') === false ? [] : [id]));
  return settings.approvals.tools.flatMap((entry): readonly Diagnostic[] => {
    const [id = '', tool] = entry.split(/\/(.*)/su, 2);
    const isThere = offering.includes(id);
    const tools = isThere ? toolsOf(id) : [];
    const isKnown = entry === '*' || isDynamic(id) || (isThere && (tool === undefined || tools.length === 0 || tools.includes(tool)));
    if (isKnown) return [];
    const hint = isThere ? didYouMean(tool ?? '', tools) : didYouMean(id, offering);
    const missing = isThere ? `'${id}' has no tool '${tool}'` : `there is no extension '${id}' with tools`;
    const message = `${settingName(settings, 'approvals.tools')}: ${missing}${hint}`;
    const cure = 'write an extension id, extension/tool or "*"';
    const isSlip = hint !== '' || (!isThere && declarations.has(id));
    return [
      {
        severity: isSlip ? 'error' : 'warning',
        code: 'name_unknown',
        message,
        cure: isSlip ? `${cure}; until then every tool asks before it runs` : cure,
      },
    ];
  });
}

function unknownModels(settings: Settings, router: KnownNames['router']): readonly Diagnostic[] {
  return Object.entries(settings.models).flatMap(([alias, reference]): readonly Diagnostic[] => {
    try {
      if (reference !== undefined) router.check(reference);
      return [];
    } catch (error) {
      const cure = error instanceof PithError ? error.cure : undefined;
      const message = `${settingName(settings, `models.${alias}`)}: ${messageOf(error)}`;
      return [{ severity: 'error', code: codeOf(error, 'model_unknown'), message, cure: cure ?? 'correct the name' }];
    }
  });
}
