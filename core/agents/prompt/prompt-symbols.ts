import { didYouMean } from '../../contract/nearest.ts';
import type { Diagnostic } from '../../contract/index.ts';

/** The variables of a prompt template. */
export const PROMPT_VARIABLES = ['agent', 'skills', 'sandbox_dir', 'date', 'channel', 'user'] as const;

export interface SymbolRules {
  readonly file: string | null;
  /** Keys that `skills[…]` may have. */
  readonly skills: readonly string[];
  readonly filters: readonly string[];
  readonly tests: readonly string[];
}

/** Walks a parsed template. The engine itself misses unknown symbols in `if`, `for` and filters. */
export function findSymbols(root: unknown, rules: SymbolRules): readonly Diagnostic[] {
  const found: Diagnostic[] = [];
  const set = new Set<string>([...PROMPT_VARIABLES, ...ENGINE_FUNCTIONS]);
  collect(root as Node, set);

  function report(node: Node, code: 'prompt_symbol_unknown' | 'prompt_invalid', message: string, cure: string): void {
    found.push({
      severity: 'error',
      code,
      message,
      file: rules.file ?? undefined,
      line: (node.lineno ?? 0) + 1,
      column: (node.colno ?? 0) + 1,
      cure,
    });
  }

  function each(nodes: readonly (Node | null | undefined)[], scope: ReadonlySet<string>): void {
    for (const node of nodes) if (node) visit(node, scope);
  }

  function visit(node: Node, scope: ReadonlySet<string>): void {
    const part = (name: string) => node[name] as Node | null | undefined;
    switch (node.typename) {
      case 'Symbol': {
        const name = String(node.value);
        if (!scope.has(name))
          report(
            node,
            'prompt_symbol_unknown',
            `'${name}' is not known to the prompt${didYouMean(name, scope)}`,
            `use one of ${PROMPT_VARIABLES.join(', ')}, or set it in the template`,
          );
        return;
      }
      case 'LookupVal':
        checkSkill(node);
        return each([part('target'), part('val')], scope);
      case 'Filter':
      case 'FilterAsync':
        checkName(node, 'filter', String(part('name')?.value), rules.filters);
        return each([part('args')], scope);
      case 'Is': {
        const test = part('right');
        const name = test?.typename === 'FunCall' ? (test.name as Node) : test;
        if (name?.typename === 'Symbol') checkName(node, 'test', String(name.value), rules.tests);
        return each([part('left'), test?.typename === 'FunCall' ? (test.args as Node) : undefined], scope);
      }
      case 'Pair':
        return each([part('value')], scope);
      case 'For':
      case 'AsyncEach':
      case 'AsyncAll':
        each([part('arr'), part('else_')], scope);
        return each([part('body')], new Set([...scope, ...namesOf(part('name')), 'loop']));
      case 'Macro':
      case 'Caller': {
        const inner = new Set([...scope, ...namesOf(part('args')), 'caller']);
        each(defaultsOf(part('args')), scope);
        return each([part('body')], inner);
      }
      case 'Set':
        return each([part('value'), part('body')], scope);
      case 'Block':
        return each([part('body')], new Set([...scope, 'super']));
      case 'Include':
      case 'Import':
      case 'FromImport':
      case 'Extends':
        return report(
          node,
          'prompt_invalid',
          'a prompt cannot include, import or extend other files',
          'write the text into this template, or bind a skill with uses_skills',
        );
      default:
        return each(childrenOf(node), scope);
    }
  }

  function checkSkill(node: Node): void {
    const target = node.target as Node;
    const key = node.val as Node;
    if (target.typename !== 'Symbol' || target.value !== 'skills' || key.typename !== 'Literal') return;
    const name = String(key.value);
    if (rules.skills.includes(name)) return;
    report(
      node,
      'prompt_symbol_unknown',
      `skills['${name}'] is not bound${didYouMean(name, rules.skills)}`,
      `add '${name}' to uses_skills`,
    );
  }

  function checkName(node: Node, kind: string, name: string, known: readonly string[]): void {
    if (!known.includes(name))
      report(node, 'prompt_invalid', `there is no ${kind} '${name}'${didYouMean(name, known)}`, `use another ${kind}`);
  }

  visit(root as Node, set);
  return found;
}

interface Node {
  readonly typename: string;
  readonly lineno?: number;
  readonly colno?: number;
  readonly fields: readonly string[];
  readonly children?: readonly Node[];
  readonly value?: unknown;
  readonly [field: string]: unknown;
}

const ENGINE_FUNCTIONS = ['range', 'cycler', 'joiner'];

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'typename' in value;
}

function childrenOf(node: Node): readonly Node[] {
  if (node.children) return node.children;
  return node.fields.flatMap((field) => {
    const value = node[field];
    return Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
  });
}

/** Names that `set` and `macro` bind anywhere in the template. */
function collect(node: Node, names: Set<string>): void {
  if (node.typename === 'Set') for (const target of node.targets as readonly Node[]) for (const name of namesOf(target)) names.add(name);
  if (node.typename === 'Macro') for (const name of namesOf(node.name as Node)) names.add(name);
  for (const child of childrenOf(node)) collect(child, names);
  if (node.typename === 'Set' && isNode(node.body)) collect(node.body, names);
}

/** Never those that every object has, such as `valueOf`: nothing may make them known. */
function namesOf(node: Node | null | undefined): readonly string[] {
  if (!node) return [];
  if (node.typename === 'Symbol') return String(node.value) in Object.prototype ? [] : [String(node.value)];
  if (node.typename === 'Pair') return namesOf(node.key as Node);
  return (node.children ?? []).flatMap(namesOf);
}

function defaultsOf(args: Node | null | undefined): readonly Node[] {
  return (args?.children ?? []).filter(({ typename }) => typename === 'KeywordArgs');
}
