import { z } from 'pith';

/** Built on demand, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** The agents that `/v1` and AG-UI offer to users who are not administrators. */
    agents: z.array(z.string().min(1)).default(['*']),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;

/** The tools of a program, as the agent of its turns has them. */
export function programToolsSchema() {
  return z.array(
    z.strictObject({
      name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/u),
      description: z.string(),
      inputSchema: z.record(z.string(), z.unknown()),
    }),
  );
}

export type ProgramTool = Readonly<z.infer<ReturnType<typeof programToolsSchema>>[number]>;
