import { describe, expect, it } from 'vitest';
import { PROMPT_VALUES } from '../../fixtures/prompt-variables.ts';
import { checkPrompt } from '../../../core/agent/index.ts';
import { renderPrompt } from '../../../core/kernel/index.ts';

const render = (text: string) => renderPrompt({ text, file: 'p.jinja2', variables: PROMPT_VALUES });

describe('prompt templates', () => {
  it('K41 renders the six variables', async () => {
    const text = '{{ agent.name }} {{ sandbox_dir }} {{ date }} {{ channel }} {{ user }} {{ skills | length }}';
    expect(await render(text)).toBe('Ada /sandbox 2026-01-31 cli someone 0');
  });

  it('K41 finds an unknown symbol with file and line before anything is rendered', async () => {
    const [found] = await checkPrompt('Hello\n{% if dat %}x{% endif %}', 'prompt.jinja2', []);
    expect(found).toMatchObject({ severity: 'error', code: 'prompt_symbol_unknown', line: 2, file: 'prompt.jinja2' });
    expect(found?.message).toContain("did you mean 'date'");
  });

  it('K41 finds an unbound skill and says how to bind it', async () => {
    const [found] = await checkPrompt("a\n\n{{ skills['code-revew'] }}", 'p.njk', ['code-review']);
    expect(found).toMatchObject({ code: 'prompt_symbol_unknown', line: 3, file: 'p.njk', cure: "add 'code-revew' to uses_skills" });
    expect(found?.message).toContain("did you mean 'code-review'");
  });

  it('T9 says file, line, what and cure of what a template may not use', async () => {
    expect(await checkPrompt('one\n{% set a"b = 1 %}', 'prompt.jinja2', [])).toEqual([
      {
        severity: 'error',
        code: 'prompt_invalid',
        message: String.raw`what is set "a\"b" is not a name`,
        cure: 'use at most 64 letters, digits and _, and no digit first',
        file: 'prompt.jinja2',
        line: 2,
        column: 8,
      },
    ]);
    expect(await checkPrompt('x\n{% if %}', 'p', [])).toMatchObject([{ code: 'prompt_invalid', line: 2 }]);
  });

  it('K41 says file and line when rendering fails', async () => {
    await expect(render('a\n{{ agent.nothing }}')).rejects.toMatchObject({ code: 'prompt_invalid', where: 'p.jinja2:2' });
  });
});
