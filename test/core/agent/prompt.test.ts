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

  it('K41 finds an unknown symbol with file and line before anything is rendered, also where the engine is silent', async () => {
    const text = 'Hello\n{% if dat %}x{% endif %}\n{% for s in lits %}{{ s }}{% endfor %}\n{{ ueser | default("nobody") }}';
    const found = await checkPrompt(text, 'prompt.jinja2', []);
    expect(found.map(({ code, line, file }) => [code, line, file])).toEqual([
      ['prompt_symbol_unknown', 2, 'prompt.jinja2'],
      ['prompt_symbol_unknown', 3, 'prompt.jinja2'],
      ['prompt_symbol_unknown', 4, 'prompt.jinja2'],
    ]);
    expect(found[0]?.message).toContain("did you mean 'date'");
  });

  it('K41 accepts what the template sets itself', async () => {
    const text = `{% set a = date %}{% macro m(x, y=user) %}{{ x }}{{ y }}{{ caller() }}{% endmacro %}{% for k, v in skills %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}
{% set b %}{{ a }}{% endset %}{{ b }}{% call m(1) %}q{% endcall %}{{ { k: a }.k }}{{ a is defined }}{% for i in range(2) %}{{ i }}{% endfor %}`;
    expect(await checkPrompt(text, null, [])).toEqual([]);
  });

  it('K41 finds a name outside the loop or macro that binds it', async () => {
    const found = await checkPrompt(
      '{% for s in skills %}{{ s }}{% endfor %}{{ s }}\n{% macro m(x) %}{{ x }}{% endmacro %}{{ x }}',
      null,
      [],
    );
    expect(found.map(({ line, code }) => [line, code])).toEqual([
      [1, 'prompt_symbol_unknown'],
      [2, 'prompt_symbol_unknown'],
    ]);
  });

  it('K41 finds an unbound skill and says how to bind it', async () => {
    const [found] = await checkPrompt("a\n\n{{ skills['code-revew'] }}", 'p.njk', ['code-review']);
    expect(found).toMatchObject({ code: 'prompt_symbol_unknown', line: 3, file: 'p.njk', cure: "add 'code-revew' to uses_skills" });
    expect(found?.message).toContain("did you mean 'code-review'");
  });

  it('K41 names broken syntax, unknown filters and other files as what they are', async () => {
    const codes = async (text: string) => (await checkPrompt(text, 'p', [])).map(({ code, line }) => [code, line]);
    expect(await codes('x\n{% if %}')).toEqual([['prompt_invalid', 2]]);
    expect(await codes('{{ date | uper }}')).toEqual([['prompt_invalid', 1]]);
    expect(await codes('a\n{% include "/etc/passwd" %}')).toEqual([['prompt_invalid', 2]]);
    expect(await codes('{% extends "x" %}')).toEqual([['prompt_invalid', 1]]);
  });

  it('K41 says file and line when rendering fails', async () => {
    await expect(render('a\n{{ agent.nothing }}')).rejects.toMatchObject({
      code: 'prompt_invalid',
      where: 'p.jinja2:2',
    });
  });
});
