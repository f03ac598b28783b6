import { valueCheck } from '@pith/tool-schemas';
import { describe, expect, it } from 'vitest';

const check = (schema: object, value: unknown) => valueCheck(schema as Record<string, unknown>).check(value);

const TREE = {
  $defs: {
    expression: {
      anyOf: [
        { type: 'number' },
        { type: 'object', properties: { op: { const: 'not' }, of: { $ref: '#/$defs/expression' } }, required: ['op', 'of'] },
        {
          type: 'object',
          properties: { op: { const: 'and' }, of: { type: 'array', items: { $ref: '#/$defs/expression' } } },
          required: ['op'],
        },
      ],
    },
  },
  $ref: '#/$defs/expression',
};

describe('a value checked against a schema', () => {
  it.each<[schema: object, right: unknown, wrong: unknown, problem: string]>([
    [{ type: 'string', minLength: 2, maxLength: 3 }, '審査', 'x', 'must have at least 2 characters'],
    [{ type: ['string', 'null'] }, null, 1, 'must be string or null'],
    [{ type: 'integer', minimum: 1, maximum: 3 }, 3, 4, 'must be at most 3'],
    [{ type: 'integer' }, 3, 3.5, 'must be integer'],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 2 }, 1.5, 2, 'must be less than 2'],
    [{ multipleOf: 0.1 }, 0.3, 0.35, 'must be a multiple of 0.1'],
    [{ enum: ['a', 1, { b: [1] }] }, { b: [1] }, '1', 'must be "a" or 1 or {"b":[1]}'],
    [{ const: 5 }, 5, '5', 'must be 5'],
    [{ const: 5, enum: [4, 5] }, 5, 4, 'must be 5'],
    [{ type: 'string', pattern: '^\\u0061\\d+$' }, 'a12', 'b12', 'must match ^\\u0061\\d+$'],
    [{ type: 'string', format: 'date' }, '2026-11-30', '30.11.2026', 'must be of the format date'],
    [{ type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 2 }, [1], [1, 'b'], '1: must be number'],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 'b'], '1: is not allowed'],
    [{ items: [{ type: 'string' }], additionalItems: { type: 'number' } }, ['a', 1], ['a', 'b'], '1: must be number'],
    [
      { uniqueItems: true },
      [{ a: 1 }, { a: 2 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'has an item twice',
    ],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1], 'has 2 of the items that it must contain'],
    [{ required: ['a'], properties: { a: {} } }, { a: 1 }, {}, 'a: is missing'],
    [{ properties: { a: { properties: { b: { type: 'null' } } } } }, { a: { b: null } }, { a: { b: 0 } }, 'a.b: must be null'],
    [{ properties: { a: {} }, additionalProperties: false }, { a: 1 }, { toString: 1 }, 'toString: is not allowed'],
    [{ patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }, { 'x-a': '' }, { 'x-a': 1 }, 'x-a: must be string'],
    [{ propertyNames: { maxLength: 2 }, maxProperties: 1 }, { ab: 1 }, { abc: 1 }, 'abc: has a name that is not allowed'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, null, 1, 'matches none of the schemas of its anyOf'],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 1, 2, 'matches 2 of the schemas of its oneOf, not one'],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 2, 3, 'must be at most 2'],
    [{ not: { type: 'string' } }, 1, 'x', 'matches the schema of its not'],
    [TREE, { op: 'and', of: [1, { op: 'not', of: 2 }] }, { op: 'not', of: 'x' }, 'matches none of the schemas of its anyOf'],
  ])('%j takes %j, and not %j', async (schema, right, wrong, problem) => {
    expect(await check(schema, right)).toEqual({ value: right });
    expect(await check(schema, wrong)).toEqual({ problems: [problem] });
  });

  it('gets the defaults of what is absent, of those alternatives alone that match', async () => {
    const properties = { unit: { default: 'kg' }, tags: { default: [] } };
    const given = {};
    expect(await check({ properties, required: ['unit'] }, given)).toEqual({ value: { unit: 'kg', tags: [] } });
    expect(given).toEqual({});
    const anyOf = [{ properties: { a: { default: 1 }, b: { type: 'string' } } }, { properties: { c: { default: 2 } } }];
    expect(await check({ anyOf }, { b: 3 })).toEqual({ value: { b: 3, c: 2 } });
  });
});

describe('a schema that cannot be used', () => {
  const deep = (levels: number, inner: object) => Array.from({ length: levels }).reduce<object>((items) => ({ items }), inner);
  const chain = Object.fromEntries(Array.from({ length: 26 }, (_, at) => [`d${at}`, at === 0 ? { type: 'null' } : twice(at - 1)]));
  const line = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]));

  it.each<[what: string, schema: object, problem: string]>([
    ['too deep', deep(5000, {}), 'more than 64 levels'],
    ['too large', { description: 'x'.repeat(200_000) }, 'larger than 131072 characters'],
    ['of too many parts', { enum: Array.from({ length: 100_001 }, () => 1) }, 'more than 64 levels or 100000 parts'],
    ['that multiplies by references', { $defs: chain, $ref: '#/$defs/d25' }, 'more than 2000 schemas for one value'],
    ['of a long line of references', { $defs: { ...line, d3000: {} }, $ref: '#/$defs/d0' }, 'more than 2000 schemas for one value'],
    ['that is itself', { anyOf: [{ $ref: '#' }] }, 'refers to itself without an end'],
    ['with a foreign reference', { $ref: 'https://example.com/a.json' }, "no schema at 'https://example.com/a.json'"],
    ['with a reference to data', { default: { type: 'string' }, items: { $ref: '#/default' } }, "no schema at '#/default'"],
    ['with a condition', { if: {} }, "the keyword 'if' cannot be checked"],
    ['with a large pattern', { pattern: '(a{1,100}){1,100}' }, 'its patterns are too large'],
  ])('%s is refused', (_, schema, problem) => {
    expect(() => valueCheck(schema as Record<string, unknown>)).toThrow(problem);
  });

  it.each(['(a', '(?=a)b', '\\1'])('with the pattern %s is refused once it is compiled', async (pattern) => {
    const ready = valueCheck({ pattern }).ready();
    await expect(ready).rejects.toThrow(`the pattern '${pattern}' cannot be used`);
  });
});

describe('a check that would take too long', () => {
  const branches = { properties: { a: { $ref: '#' } } };
  const nested = (levels: number) => Array.from({ length: levels }).reduce<object>((a) => ({ a }), { a: 1 });
  const line = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]));

  const manyNames = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`p${at}`, {}]));
  const LATE = 'it takes too long to check; make it smaller';

  it.each<[what: string, schema: object, value: unknown, problem?: string]>([
    ['a pattern that goes back', { pattern: '^(a+)+$' }, `${'a'.repeat(200_000)}!`, 'must match ^(a+)+$'],
    ['many patterns', { items: { pattern: '(x+x+)+y', minLength: 1 } }, Array.from({ length: 20_000 }, () => `${'x'.repeat(500)}y`)],
    ['alternatives of alternatives', { anyOf: [{ allOf: [branches, { required: ['b'] }] }, branches] }, nested(150)],
    ['a line of references at each level', { $defs: { ...line, d1500: { items: { $ref: '#' } } }, $ref: '#/$defs/d0' }, [[[[[1]]]]]],
    ['many properties of many items', { items: { properties: manyNames } }, Array.from({ length: 500 }, () => ({}))],
    [
      'many alternatives of many items',
      { items: { anyOf: [...Array.from({ length: 1000 }, () => ({ type: 'null' })), {}] } },
      Array(500).fill(1),
    ],
    ['formats of many items', { items: { format: 'email' } }, Array(5000).fill(`${'a.'.repeat(2000)}a@b.co`)],
    ['equal items', { items: { enum: ['x'.repeat(5000)] } }, Array(3000).fill('x'.repeat(5000))],
    [
      'a deep value',
      { items: { $ref: '#' } },
      JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
      'it has more than 200 levels or 100000 parts',
    ],
  ])('%s: it ends', async (_, schema, value, problem = LATE) => {
    expect(await check(schema, value)).toEqual({ problems: [problem] });
  });
});

function twice(at: number): object {
  return { anyOf: [{ $ref: `#/$defs/d${at}` }, { $ref: `#/$defs/d${at}` }] };
}
