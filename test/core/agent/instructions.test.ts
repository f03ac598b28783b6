import { describe, expect, it } from 'vitest';
import { agent, createWorld } from './world.ts';

/** What the model is sent of an agent that carries these skills. */
async function text(prompt: string | null, skills: Readonly<Record<string, string>>, instructions = ''): Promise<string> {
  const carries = agent('main', { prompt, instructions, usesSkills: Object.keys(skills) });
  const { kernel } = await createWorld({ agents: [carries], skills });
  return (await kernel.agents.preview({ agent: 'main', input: 'hello' })).system;
}

describe('the order of instructions', () => {
  it('DESIGN 3.4 is skills, prompt, inline instructions', async () => {
    const all = await text('PROMPT {{ date }}', { one: 'ONE', two: 'TWO' }, 'INLINE');
    expect(all).toBe(
      '<skill id="one" sha256="sha-one-3">\nONE\n</skill>\n\n<skill id="two" sha256="sha-two-3">\nTWO\n</skill>\n\nPROMPT 2026-01-01\n\nINLINE',
    );
  });

  it('T9 a body that a template prints again and again is refused before the text is made', async () => {
    const prompt = "{% for i in range(9000) %}{{ skills['one'] }}{% endfor %}";
    await expect(text(prompt, { one: 'x'.repeat(200_000) })).rejects.toMatchObject({
      code: 'prompt_invalid',
      message: expect.stringContaining('4194304 is the most') as string,
    });
  });

  it('DESIGN 3.4 a template places a body where it prints it, and it is not repeated on top', async () => {
    const all = await text("Role.\n{{ skills['two'] }}\nEnd.", { one: 'ONE', two: 'TWO' });
    expect(all).toBe(
      '<skill id="one" sha256="sha-one-3">\nONE\n</skill>\n\nRole.\n<skill id="two" sha256="sha-two-3">\nTWO\n</skill>\nEnd.',
    );
    expect(all.split('TWO')).toHaveLength(2);
  });

  it('DESIGN 3.4 bodies are values: template marks and replacement patterns stay byte for byte', async () => {
    const body = "{{ agent.constructor }} {% include 'x' %} $& $1 $` {# c #}\r\n\tend  \n";
    const placed = await text("A {{ skills.one }} B {{ skills['one'] }}", { one: body });
    expect(placed.split(body)).toHaveLength(3);
    expect(await text(null, { one: body })).toContain(`\n${body}\n</skill>`);
  });

  it('DESIGN 3.4 a filter over a placed body changes nothing of it', async () => {
    expect(await text('{{ skills.one | upper | trim }}', { one: 'small' })).toContain('\nsmall\n');
  });

  it('DESIGN 3.4 a body cannot bring another body along', async () => {
    const guess = '{{ skills.two }}';
    const all = await text('{{ skills.one }}{{ skills.two }}', { one: guess, two: 'SECRET' });
    expect(all.split('SECRET')).toHaveLength(2);
    expect(all).toContain(guess);
  });

  it('DESIGN 3.4 attributes are escaped', async () => {
    expect(await text(null, { 'a"b<c': 'x' })).toContain('<skill id="a&quot;b&lt;c" sha256="sha-a&quot;b&lt;c-1">');
  });

  it('DESIGN 3.4 a prompt without template marks and inline instructions are taken as they are', async () => {
    expect(await text('100 % {plain} $&', {}, 'inline {{ date }}')).toBe('100 % {plain} $&\n\ninline {{ date }}');
  });
});
