import { describe, expect, it } from 'vitest';
import { read } from './repository.ts';
import { listed } from './skill-text.ts';
import { PROMPT_VALUES } from '../fixtures/prompt-variables.ts';
import { checkPrompt, PROMPT_VARIABLES } from '../../core/agent/index.ts';
import { renderPrompt } from '../../core/kernel/index.ts';

const render = (text: string) => renderPrompt({ text, file: null, variables: PROMPT_VALUES });

describe('the guide to prompt templates', () => {
  it('K41 lists every variable, and no other', () => {
    expect(listed(read('docs/prompt-templates.md'), 'Variables')).toEqual([...PROMPT_VARIABLES]);
  });

  it.each([
    ["{{ 'ada' | upper }}", 'ADA'],
    ["{{ 'a,b'.split(',') }}", 'a,b'],
    ["{% for k, v in {'a': 1} %}{{ k }}={{ v }}{% endfor %}", 'a=1'],
    ['{{ [1, 2, 3].slice(1) }}', '2,3'],
    ["{{ 'abcd'.slice(0, 3) }}", 'abc'],
    ['{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}', '2'],
    ['{{ true }}', 'true'],
    ['{{ [1, 2] }}', '1,2'],
    ['{{ [1, 2] | dump }}', '[1,2]'],
    ['{% set list = [] %}{% if list %}yes{% endif %}{% if list.length %}no{% endif %}', 'yes'],
    ["{{ 'ab' * 2 }}", 'NaN'],
    ['{{ [1] == [1] }}', 'false'],
    ["{{ 'a' ~ 1 }} {{ 7 // 2 }} {{ 2 ** 3 }} {{ 'x' if true else 'y' }}", 'a1 3 8 x'],
  ])('K41 %s prints %s', async (text, printed) => {
    expect(await checkPrompt(text, null, [])).toEqual([]);
    expect(await render(text)).toBe(printed);
  });

  it.each([
    '{{ [1] | tojson }}',
    "{{ 'x' | format }}",
    '{{ [1] | map }}',
    '{{ missing }}',
    '{% include "x" %}',
    '{% with %}{% endwith %}',
    '{{ [1, 2][1:] }}',
  ])('K41 %s is found before the agent starts', async (text) => {
    expect(await checkPrompt(text, 'prompt.jinja2', [])).toMatchObject([{ severity: 'error', file: 'prompt.jinja2' }]);
  });

  it.each(["{{ 'a'.upper() }}", "{% for k, v in {'a': 1}.items() %}{% endfor %}"])('K41 %s fails when it is rendered', async (text) => {
    await expect(render(text)).rejects.toMatchObject({ code: 'prompt_invalid' });
  });
});
