import { z } from 'pith';

/** Settings of the extension: `extensions.agent_files`. */
export const config = z.strictObject({
  /** The tools of an agent whose file has no `uses_tools`. */
  default_tools: z.array(z.string().min(1)).default(['core_tools']).meta({ safeguard: true, narrowest: [] }),
});

export type Config = z.infer<typeof config>;

/** The frontmatter of an AGENT.md. Strict. */
export const frontmatter = z.strictObject({
  name: z.string().min(1),
  description: z.string().default(''),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  allow_skills: z.boolean().default(false),
  uses_tools: z.array(z.string().min(1)).optional().meta({ safeguard: true }),
  uses_skills: z.array(z.string().min(1)).default([]),
  limits: z
    .strictObject({
      max_turns: z.int().min(1).optional(),
      max_tool_calls: z.int().min(0).optional(),
      max_tokens: z.int().min(1).optional(),
      time_budget_ms: z.int().min(1).optional(),
    })
    .default({})
    .meta({ safeguard: true }),
});

export type Frontmatter = z.output<typeof frontmatter>;
