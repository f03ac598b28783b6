import { defineTool, toolError, toolResult, z, type Tool } from 'pith';
import { diffOf, subjectOf } from '../activation-summary.ts';
import type { Builder } from '../builder.ts';
import { checkJson } from '../finding.ts';
import { activeFolder } from '../places.ts';
import { skillTemplate } from '../templates.ts';
import { Place } from '../versions/place.ts';
import { questionOf, requireAgreed } from './extension-tools.ts';

const id = z.string().min(1).describe('The skill, in lower-case words with hyphens, such as release-notes.');

export function skillTools(builder: Builder): readonly Tool[] {
  return [stage(builder), check(builder), activate(builder)];
}

function stage({ staging, places }: Builder): Tool {
  return defineTool({
    name: 'stage_skill',
    description:
      'Begin to write a new skill from the template, where nothing offers it yet. Write its files with the file tool, then call check_skill.',
    input: z.object({ id, restart: z.boolean().default(false).describe('Throw away what is staged under this id and start over.') }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    async execute(input) {
      if (!staging.exists('skills', input.id) || input.restart)
        await staging.begin('skills', input.id, await skillTemplate(places.shippedSandbox, input.id));
      const path = staging.path('skills', input.id);
      const sources = await staging.sources('skills', input.id);
      return toolResult({ path, files: sources.map((source) => `${path}/${source.path}`) }, { title: `Staged ${input.id}` });
    },
  });
}

function check(builder: Builder): Tool {
  return defineTool({
    name: 'check_skill',
    description:
      'Check a staged skill against the specification and scan it. Returns findings with file, line and cure, and the digest that activate_skill needs.',
    input: z.object({ id }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    timeoutMs: 60_000,
    async execute(input, { signal }) {
      const { check: found, digest } = await builder.checkSkill(input.id, signal);
      await builder.staging.remember('skills', input.id, digest, found.ok);
      return toolResult(
        {
          ok: found.ok,
          digest,
          checks: [checkJson(found, builder.sandbox)],
          next: found.ok ? 'activate_skill with this digest; a person is asked' : 'fix the errors, then check again',
        },
        { title: found.ok ? `${input.id} passes` : `${input.id} does not pass` },
      );
    },
  });
}

function activate({ staging, sandbox }: Builder): Tool {
  const place = (skill: string) => new Place(activeFolder(sandbox, 'skills', skill));
  const passed = async (skill: string, digest: string) =>
    (await place(skill).digest()) === null
      ? { code: 'not_checked', ...(await staging.passed('skills', skill, digest)) }
      : { code: 'use_proposal', sources: [], why: 'it exists, and only a person changes it: propose the change to them' };
  return defineTool({
    name: 'activate_skill',
    description:
      'Accept a staged new skill that has passed its check, so that it is offered; a person is asked. An existing skill is changed by a person only.',
    input: z.object({ id, digest: z.string().min(1).describe('The digest that check_skill answered.') }),
    permission: { authoring: 'admin', safeToShare: false },
    needsApproval: (input) =>
      questionOf(async () => {
        const { sources, why } = await passed(input.id, input.digest);
        return why === null
          ? { summary: `offer the new skill ${input.id}`, text: diffOf([], sources), subject: subjectOf(null, sources, null) }
          : { why };
      }),
    async execute(input, { approved }) {
      const { code, sources, why } = await passed(input.id, input.digest);
      if (why !== null) return toolError(code, `the skill '${input.id}' was not activated: ${why}`);
      diffOf([], sources); // refuses what nobody could have read
      requireAgreed(subjectOf(null, sources, null), approved, input.id);
      await place(input.id).put(sources);
      await staging.end('skills', input.id);
      return toolResult({ id: input.id, path: `skills/${input.id}` }, { title: `The skill ${input.id} is offered` });
    },
  });
}
