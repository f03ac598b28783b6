import { describe, expect, it } from 'vitest';
import { type BoundSkill, INSTRUCTION_ORDER, instructionsOf } from '../../../core/agent/index.ts';
import { agent } from './world.ts';

const variables = { sandbox_dir: '/sandbox', date: '2026-01-01', channel: 'cli', user: 'local' };

const kernelOnly = (id: string): Promise<string> => Promise.reject(new Error(`${id} brought nothing`));

function skill(id: string, body: string): BoundSkill {
  return { name: id, content: { id, name: id, version: null, sha256: 'abc', body }, note: null };
}

async function text(prompt: string | null, skills: readonly BoundSkill[], instructions = ''): Promise<string> {
  return (await instructionsOf(agent('a', { prompt, instructions }), skills, variables, kernelOnly)).map((part) => part.text).join('\n\n');
}

describe('the order of instructions', () => {
  it('DESIGN 3.4 is skills, prompt, inline instructions', async () => {
    expect(INSTRUCTION_ORDER).toEqual(['skills', 'prompt', 'instructions']);
    const all = await text('PROMPT {{ date }}', [skill('one', 'ONE'), skill('two', 'TWO')], 'INLINE');
    expect(all).toBe(
      '<skill id="one" sha256="abc">\nONE\n</skill>\n\n<skill id="two" sha256="abc">\nTWO\n</skill>\n\nPROMPT 2026-01-01\n\nINLINE',
    );
  });

  it('T9 a body that a template prints again and again is refused before the text is made', async () => {
    const prompt = "{% for i in range(9000) %}{{ skills['one'] }}{% endfor %}";
    await expect(text(prompt, [skill('one', 'x'.repeat(200_000))])).rejects.toMatchObject({
      code: 'prompt_invalid',
      message: expect.stringContaining('4194304 is the most') as string,
    });
  });

  it('DESIGN 3.4 a template places a body where it prints it, and it is not repeated on top', async () => {
    const all = await text("Role.\n{{ skills['two'] }}\nEnd.", [skill('one', 'ONE'), skill('two', 'TWO')]);
    expect(all).toBe('<skill id="one" sha256="abc">\nONE\n</skill>\n\nRole.\n<skill id="two" sha256="abc">\nTWO\n</skill>\nEnd.');
    expect(all.split('TWO')).toHaveLength(2);
  });

  it('DESIGN 3.4 bodies are values: template marks and replacement patterns stay byte for byte', async () => {
    const body = "{{ agent.constructor }} {% include 'x' %} $& $1 $` {# c #}\r\n\tend  \n";
    const placed = await text("A {{ skills.one }} B {{ skills['one'] }}", [skill('one', body)]);
    expect(placed.split(body)).toHaveLength(3);
    expect(await text(null, [skill('one', body)])).toContain(`\n${body}\n</skill>`);
  });

  it('DESIGN 3.4 a filter over a placed body changes nothing of it', async () => {
    expect(await text('{{ skills.one | upper | trim }}', [skill('one', 'small')])).toContain('\nsmall\n');
  });

  it('DESIGN 3.4 a body cannot bring another body along', async () => {
    const guess = '{{ skills.two }}';
    const all = await text('{{ skills.one }}{{ skills.two }}', [skill('one', guess), skill('two', 'SECRET')]);
    expect(all.split('SECRET')).toHaveLength(2);
    expect(all).toContain(guess);
  });

  it('DESIGN 3.4 attributes are escaped', async () => {
    expect(await text(null, [skill('a"b<c', 'x')])).toContain('<skill id="a&quot;b&lt;c" sha256="abc">');
  });

  it('DESIGN 3.4 a prompt without template marks and inline instructions are taken as they are', async () => {
    expect(await text('100 % {plain} $&', [], 'inline {{ date }}')).toBe('100 % {plain} $&\n\ninline {{ date }}');
  });
});
