import { z } from 'pith';

const cureShape = () => z.json().exactOptional().meta({ description: 'What to do; over HTTP as data: text, command, request' });

const diagnostic = () =>
  z.strictObject({
    severity: z.enum(['error', 'warning', 'info']),
    code: z.string(),
    message: z.string(),
    file: z.string().nullable(),
    line: z.int().nullable(),
    column: z.int().nullable(),
    cure: cureShape(),
  });

/** A skill as `--json` prints it. */
export const skillResult = () =>
  z.strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    source: z.string(),
    path: z.string(),
    state: z.enum(['offered', 'draft', 'shadowed', 'disabled', 'untrusted', 'invalid']),
    reason: z.string().exactOptional(),
    cure: cureShape(),
    version: z.string().exactOptional(),
    tokens: z.int(),
    tokensEstimated: z.literal(true).exactOptional(),
    tags: z.array(z.string()).exactOptional(),
    diagnostics: z.array(diagnostic()),
  });

export const shownSkillResult = () => {
  const texts = z.array(z.string());
  const script = z.strictObject({
    path: z.string(),
    description: z.string().exactOptional(),
    env: texts.exactOptional(),
    timeout_s: z.number().exactOptional(),
  });
  return skillResult().extend({
    brief: z.json().exactOptional(),
    requires: texts,
    examples: texts,
    allowedTools: z.json(),
    toolsets: z.json(),
    scripts: z.array(script),
    extra: z.record(z.string(), z.json()),
    sha256: z.string(),
    body: z.string(),
    stale: z.string().exactOptional(),
  });
};
