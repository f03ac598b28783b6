import { z } from 'pith';

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
