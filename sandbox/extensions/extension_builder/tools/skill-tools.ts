import { defineTool, PithError, toolError, toolResult, z, type Tool } from 'pith';
import { sha256 } from '@pith/plain-data';
import { SkillDrafts } from 'pith/skill_registry';
import type { Builder } from '../builder.ts';
import { checkJson } from '../finding.ts';
import { skillTemplate } from '../templates.ts';
import { questionOf, requireAgreed } from './extension-tools.ts';

const id = z.string().min(1).describe('The skill, in lower-case words with hyphens, such as release-notes.');

export function skillTools(builder: Builder): readonly Tool[] {
  return [stage(builder), check(builder), activate(builder)];
}

/** Who keeps the new skills that agents write. */
function draftsOf({ context }: Builder): SkillDrafts {
  const [drafts] = context.find(SkillDrafts);
  if (drafts === undefined)
    throw new PithError('provider_unavailable', 'nothing keeps drafts of skills here', { cure: 'switch skill_registry on' });
  return drafts;
}

function stage(builder: Builder): Tool {
  const { staging, places } = builder;
  return defineTool({
    name: 'stage_skill',
    description:
      'Begin to write a new skill from the template: a draft, which nothing offers yet. Write its files with the file tool, then call check_skill.',
    input: z.object({ id, restart: z.boolean().default(false).describe('Throw away what is staged under this id and start over.') }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    async execute(input, { turn }) {
      const path = staging.path('skills', input.id);
      const isThere = staging.exists('skills', input.id);
      if (!isThere || input.restart) {
        if (isThere) await draftsOf(builder).discard(input.id);
        const template = await skillTemplate(places.shippedSandbox, input.id);
        const files = template.map((file) => ({ path: file.path, sha256: sha256(file.bytes) }));
        await draftsOf(builder).write(input.id, files, turn);
        await staging.begin('skills', input.id, template);
      }
      const sources = await staging.sources('skills', input.id);
      return toolResult({ path, files: sources.map((source) => `${path}/${source.path}`) }, { title: `Staged ${input.id}` });
    },
  });
}

function check(builder: Builder): Tool {
  return defineTool({
    name: 'check_skill',
    description:
      'Check a draft of a skill against the specification and scan it. Returns findings with file, line and cure, and the digest that activate_skill needs.',
    input: z.object({ id }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    timeoutMs: 60_000,
    async execute(input, { signal }) {
      const found = await builder.checkSkill(input.id, signal);
      const { digest, why } = await draftsOf(builder).look(input.id);
      const ok = found.ok && why === null;
      return toolResult(
        {
          ok,
          digest,
          checks: [checkJson(found, builder.sandbox)],
          next: ok ? 'activate_skill with this digest; a person is asked' : `correct it, then check again${why === null ? '' : `: ${why}`}`,
        },
        { title: ok ? `${input.id} passes` : `${input.id} does not pass` },
      );
    },
  });
}

function activate(builder: Builder): Tool {
  /** The draft, where it is what was checked and can be accepted. */
  const checked = async (skill: string, digest: string) => {
    const draft = await draftsOf(builder).look(skill);
    const why = draft.digest === digest ? draft.why : 'its files are not those with this digest; run check_skill and take its digest';
    return { ...draft, why };
  };
  return defineTool({
    name: 'activate_skill',
    description: 'Have a draft of a new skill offered, once it passes check_skill; a person is shown all of it and asked.',
    input: z.object({ id, digest: z.string().min(1).describe('The digest that check_skill answered.') }),
    permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
    timeoutMs: 60_000,
    needsApproval: (input) =>
      questionOf(async () => {
        const { text, digest: subject, why } = await checked(input.id, input.digest);
        return why === null ? { summary: `offer the new skill ${input.id}`, text, subject } : { why };
      }),
    async execute(input, { approved }) {
      const { digest, why } = await checked(input.id, input.digest);
      if (why !== null) return toolError('not_checked', `the skill '${input.id}' was not activated: ${why}`);
      requireAgreed(digest, approved, input.id);
      await draftsOf(builder).accept(input.id, digest, 'person');
      return toolResult({ id: input.id, path: `skills/${input.id}` }, { title: `The skill ${input.id} is offered` });
    },
  });
}
