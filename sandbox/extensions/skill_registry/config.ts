import { z } from 'pith';
import { once } from '@pith/promises';

const BUDGET = 'must be a whole number of tokens from 100 to 20000';

export const DEFAULT_RANKER = 'skill_search';

/** The settings block `skills:`. Made on first use, so that importing this file builds no schema. */
export const configSchema = once(() => {
  const names = z.array(z.string().min(1)).default([]);
  const source = z.union([z.string().min(1), z.strictObject({ path: z.string().min(1), label: z.string().min(1).optional() })]);
  return z.strictObject({
    enabled: z.boolean().default(true).meta({ safeguard: true, narrowest: false }),
    /** Ids that may be used; empty means all. */
    allowed: names.meta({ safeguard: true }),
    disabled: names.meta({ safeguard: true, narrowest: ['*'] }),
    /** Ids of skills that are off by default and wanted. Changes nothing else. */
    enable: names.meta({ safeguard: true }),
    /** Folders beside the default ones; `{ replace: […] }` takes the place of all of them. */
    sources: z
      .union([z.array(source), z.strictObject({ replace: z.array(source) })])
      .default([])
      .meta({ by_hand: 'says which folders skills come from' }),
    /** One more source. */
    skills_path: z.string().min(1).nullable().default(null).meta({ by_hand: 'says which folders skills come from' }),
    /** What of a source that a person trusts is asked again: every change, or that of links, scripts and toolsets. */
    trust: z.enum(['ask', 'auto']).default('auto').meta({ by_hand: 'says what of skills is taken without a question' }),
    /** What becomes of a new skill that an agent writes: refused, a draft until a person accepts it, or accepted where it is text only and gains by its own cases. */
    new_skills: z
      .enum(['never', 'ask', 'auto'])
      .default('ask')
      .meta({ safeguard: true, narrowest: 'never', by_hand: 'says what of skills is taken without a question' }),
    /** Seconds between rescans; 0 switches them off. */
    poll_seconds: z.number().min(0).default(5),
    /** So many skills get a history in the background; others get one when they are first loaded, changed by a command, or asked for. */
    history_skills: z.int().min(0).default(500),
    /** Folders outside a source to which its links may lead. */
    trusted_links: names.meta({ by_hand: 'opens folders to links of skills' }),
    /** The extension whose ranker finds skills; null: words shared with ids, names and tags decide. */
    ranker: z.string().min(1).nullable().default(DEFAULT_RANKER),
  });
});

export type SkillsConfig = z.output<ReturnType<typeof configSchema>>;

/** The key `skills` under `agent:`, which this extension owns. Its keys keep something back: of one that cannot be read the narrowest value is. */
export const agentSkillsSchema = once(() =>
  z
    .strictObject({
      mode: z.enum(['catalog', 'single_tool', 'triggers', 'none']).default('catalog').meta({ safeguard: true, narrowest: 'none' }),
      /** Globs over ids and `source/id`. Never over display names, which a skill gives itself. */
      allow: z.array(z.string().min(1)).default(['*']).meta({ safeguard: true, narrowest: [] }),
      deny: z
        .array(z.string().min(1))
        .default([])
        .meta({ safeguard: true, narrowest: ['*'] }),
      /** `declared`: only what the manifest itself names. */
      scope: z.enum(['all', 'declared']).default('all').meta({ safeguard: true, narrowest: 'declared' }),
      /** Mode `triggers`, which another extension may serve: bodies that one message may bring. */
      max_skills: z.int().min(1).optional(),
      /** false: its turns teach nothing, whatever the setting `skills.learn_examples` says. */
      learn_examples: z.boolean().default(true).meta({ safeguard: true, narrowest: false }),
      /** Tokens of the catalog; absent: by the model's window. */
      budget_tokens: z.int(BUDGET).min(100, BUDGET).max(20_000, BUDGET).optional(),
      /** Ids and globs of skills that keep their line when the catalog does not fit. */
      pinned: z.array(z.string().min(1)).default([]),
    })
    .meta({ safeguard: true, narrowest: { mode: 'none' } }),
);

export type AgentSkills = z.output<ReturnType<typeof agentSkillsSchema>>;

/** The same for who checks an agent: it also notes what is accepted and does nothing in its mode. */
export const agentSkillsCheck = once(() =>
  agentSkillsSchema().superRefine(({ mode, max_skills: most }, check) => {
    const note = (path: string, code: string, message: string, cure: string) =>
      check.addIssue({ code: 'custom', path: [path], message, params: { severity: 'warning', code, cure } });
    if (most !== undefined && mode !== 'triggers')
      note('max_skills', 'no_effect', `only the mode 'triggers' reads it; this agent's is '${mode}'`, "remove it, or set 'mode: triggers'");
  }),
);
