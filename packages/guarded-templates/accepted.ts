import parser from 'nunjucks/src/parser.js';
import { didYouMean } from '@pith/plain-text';
import { FILTER_NAMES, GLOBAL_NAMES, TEST_NAMES } from './filters.ts';
import { TemplateProblem, type TemplateVariables } from './template.ts';

/** The longest template that is read. */
const TEMPLATE_LIMIT = 256 * 1024;
/** The longest run of blanks in it: the parser takes the square of a run's length to cut it off. */
const BLANKS_LIMIT = 500;
/** How deep its parts may be in each other. */
const TREE_LIMIT = 200;

/** A part of a parsed template, as nunjucks makes it. Nothing in it is believed before `acceptedTemplate` has accepted the whole. */
export interface TemplateNode {
  readonly typename: string;
  /** From 0. */
  readonly lineno?: number;
  readonly colno?: number;
  readonly children?: readonly TemplateNode[];
  readonly value?: unknown;
  readonly [field: string]: unknown;
}

/** A template that may be run, or what keeps it from that. */
type Accepted =
  | { readonly root: TemplateNode; readonly problems: readonly [] }
  | { readonly root: null; readonly problems: readonly [TemplateProblem, ...TemplateProblem[]] };

/** Whoever has a root from here has one that was accepted as a whole. */
export function acceptedTemplate(text: string, variables: TemplateVariables, closed: readonly string[]): Accepted {
  try {
    const root = parseTemplate(text);
    const [first, ...others] = problemsOf(root, variables, closed);
    return first === undefined ? { root, problems: [] } : { root: null, problems: [first, ...others] };
  } catch (error) {
    return {
      root: null,
      problems: [error instanceof TemplateProblem ? error : new TemplateProblem(unparsed(String(error)), { cause: error })],
    };
  }
}

/** Every symbol, target, argument, keyword and name of a macro or block. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Nobody reads more of them; and what looks for similar names is asked no more often. */
const MOST_FINDINGS = 20;
const MOST_SIMILAR = 500;

/** Names that are known in a part of the template, and around it. */
class Names {
  readonly #own: Set<string>;
  readonly #outer: Names | null;

  constructor(own: Iterable<string>, outer: Names | null = null) {
    this.#own = new Set(own);
    this.#outer = outer;
  }

  has(name: string): boolean {
    return this.#own.has(name) || (this.#outer?.has(name) ?? false);
  }

  add(name: string): void {
    this.#own.add(name);
  }

  /** The nearest of them, as the end of a sentence. */
  similar(name: string): string {
    const all = this.all();
    return all.length > MOST_SIMILAR ? '' : didYouMean(name, all);
  }

  all(): readonly string[] {
    return [...this.#own, ...(this.#outer?.all() ?? [])];
  }
}

/** Values of two parts, and of one. */
const BINARY = new Set(['In', 'Or', 'And', 'Add', 'Concat', 'Sub', 'Mul', 'Div', 'FloorDiv', 'Mod', 'Pow']);
const UNARY = new Set(['Not', 'Neg', 'Pos']);

/** Kinds of parts and names that are not on the list, and names of variables, keys, filters and tests that there are not. */
function problemsOf(root: TemplateNode, variables: TemplateVariables, closed: readonly string[]): readonly TemplateProblem[] {
  const found: TemplateProblem[] = [];
  const known = new Names([...Object.keys(variables), ...GLOBAL_NAMES]);

  function report(
    node: TemplateNode,
    message: string,
    rest: Pick<TemplateProblem, 'cure'> & Partial<Pick<TemplateProblem, 'code' | 'key'>>,
  ): void {
    found.push(new TemplateProblem(message, { ...rest, line: (node.lineno ?? 0) + 1, column: (node.colno ?? 0) + 1 }));
  }

  const refuse = (node: TemplateNode, message: string, cure = 'take it out of the template'): void => report(node, message, { cure });

  /** One look at the whole before any other: how deep it is, and which names `set` and `macro` bind anywhere. */
  function survey(node: TemplateNode, depth: number): boolean {
    if (depth > TREE_LIMIT) {
      refuse(node, `parts of the template are nested deeper than ${TREE_LIMIT}`, 'write it in smaller steps, with set');
      return false;
    }
    if (node.typename === 'Set') for (const target of nodesIn(node['targets'])) bind(target);
    if (node.typename === 'Macro' && isNode(node['name'])) bind(node['name']);
    return partsOf(node).every((part) => survey(part, depth + 1));
  }

  /** Never what every object has, such as `valueOf`: nothing may make that known. */
  function bind(target: TemplateNode): void {
    if (isName(target) && !(target.value in Object.prototype)) known.add(target.value);
  }

  function checkName(node: unknown, at: TemplateNode, what: string): string | undefined {
    if (isNode(node) && isName(node)) return node.value;
    const given = isNode(node) ? node.value : undefined;
    const shown = typeof given === 'string' ? ` ${JSON.stringify(given.slice(0, 60))}` : '';
    refuse(isNode(node) ? node : at, `${what}${shown} is no name`, 'use at most 64 letters, digits and _, and no digit first');
    return undefined;
  }

  function names(nodes: readonly unknown[], at: TemplateNode, what: string): readonly string[] {
    return nodes.flatMap((node) => checkName(node, at, what) ?? []).filter((name) => !(name in Object.prototype));
  }

  function listed(node: TemplateNode, kind: string, name: string, those: readonly string[]): void {
    if (!those.includes(name)) refuse(node, `there is no ${kind} '${name}'${didYouMean(name, those)}`, `use another ${kind}`);
  }

  function each(nodes: unknown, scope: Names): void {
    for (const node of nodesIn(nodes)) visit(node, scope);
  }

  function part(node: TemplateNode, field: string, scope: Names): void {
    const value = node[field];
    if (isNode(value)) visit(value, scope);
    else refuse(node, `something is missing in this ${node.typename}`, 'correct the template');
  }

  function visit(node: TemplateNode, scope: Names): void {
    if (found.length >= MOST_FINDINGS) return;
    const { typename } = node;
    if (BINARY.has(typename)) {
      part(node, 'left', scope);
      return part(node, 'right', scope);
    }
    if (UNARY.has(typename)) return part(node, 'target', scope);
    switch (typename) {
      case 'Root':
      case 'NodeList':
      case 'Output':
      case 'Group':
      case 'Array':
        return each(node.children, scope);
      case 'TemplateData':
      case 'Literal':
        return literal(node);
      case 'Symbol':
        return symbol(node, scope);
      case 'Dict':
        for (const pair of nodesIn(node.children)) dictPair(pair, scope);
        return;
      case 'LookupVal':
        closedKey(node);
        part(node, 'target', scope);
        return part(node, 'val', scope);
      case 'InlineIf':
      case 'If':
        part(node, 'cond', scope);
        part(node, 'body', scope);
        return each([node['else_']], scope);
      case 'Compare':
        part(node, 'expr', scope);
        for (const operand of nodesIn(node['ops'])) part(operand, 'expr', scope);
        return;
      case 'FunCall':
        part(node, 'name', scope);
        return args(node, scope);
      case 'Filter': {
        const name = checkName(node['name'], node, 'the filter');
        if (name !== undefined) listed(node, 'filter', name, FILTER_NAMES);
        return args(node, scope);
      }
      case 'Is':
        part(node, 'left', scope);
        return test(node, scope);
      case 'Capture':
        return part(node, 'body', scope);
      case 'For': {
        const target = node['name'];
        const targets = isNode(target) && target.typename === 'Array' ? nodesIn(target.children) : [target];
        part(node, 'arr', scope);
        each([node['else_']], scope);
        return part(node, 'body', new Names([...names(targets, node, 'the target of the loop'), 'loop'], scope));
      }
      case 'Macro':
        checkName(node['name'], node, 'the macro');
        return macro(node, scope);
      case 'Caller':
        return macro(node, scope);
      case 'Set': {
        names(nodesIn(node['targets']), node, 'what is set');
        const { value } = node;
        return each([value, node['body']], scope);
      }
      case 'Block':
        checkName(node['name'], node, 'the block');
        return part(node, 'body', scope);
      case 'Include':
      case 'Import':
      case 'FromImport':
      case 'Extends':
        return refuse(node, 'a template cannot include, import or extend other files', 'write the text into this template');
      default:
        return refuse(node, `a template cannot use ${UNUSED.get(typename) ?? `a ${typename}`}`);
    }
  }

  function literal(node: TemplateNode): void {
    const { value } = node;
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return;
    refuse(node, 'a template cannot use a regular expression', 'compare or replace plain texts');
  }

  function symbol(node: TemplateNode, scope: Names): void {
    const name = checkName(node, node, 'the name');
    if (name === undefined || scope.has(name)) return;
    report(node, `'${name}' is not known to the template${scope.similar(name)}`, {
      code: 'template_name_unknown',
      cure: `use one of ${Object.keys(variables).join(', ')}, or set it in the template`,
    });
  }

  function dictPair(pair: TemplateNode, scope: Names): void {
    const { key } = pair;
    if (!(isNode(key) && key.typename === 'Literal' && typeof key.value === 'string')) checkName(key, pair, 'the key');
    part(pair, 'value', scope);
  }

  /** Of a call or filter: values, then perhaps keywords. */
  function args(node: TemplateNode, scope: Names): void {
    const given = node['args'];
    for (const each of isNode(given) ? nodesIn(given.children) : []) {
      if (each.typename === 'KeywordArgs') keywords(each, scope);
      else visit(each, scope);
    }
  }

  function keywords(node: TemplateNode, scope: Names): void {
    for (const pair of nodesIn(node.children)) {
      checkName(pair['key'], pair, 'the keyword');
      part(pair, 'value', scope);
    }
  }

  function test(node: TemplateNode, scope: Names): void {
    const right = node['right'] as TemplateNode;
    if (right.typename === 'Literal' && right.value === null) return; // `is none`
    const name = checkName(right.typename === 'FunCall' ? right['name'] : right, node, 'the test');
    if (name !== undefined) listed(node, 'test', name, TEST_NAMES);
    if (right.typename === 'FunCall') args(right, scope);
  }

  function macro(node: TemplateNode, scope: Names): void {
    const given = isNode(node['args']) ? nodesIn(node['args'].children) : [];
    const positional = given.filter(({ typename }) => typename !== 'KeywordArgs');
    const defaults = given.filter(({ typename }) => typename === 'KeywordArgs').flatMap(({ children }) => nodesIn(children));
    const bound = names([...positional, ...defaults.map((pair) => pair['key'])], node, 'the argument');
    for (const pair of defaults) part(pair, 'value', new Names(bound, scope));
    part(node, 'body', new Names([...bound, 'caller'], scope));
  }

  function closedKey(node: TemplateNode): void {
    const { target, val: key } = node;
    if (!isNode(target) || target.typename !== 'Symbol' || !closed.includes(String(target.value))) return;
    if (!isNode(key) || key.typename !== 'Literal') return;
    const keys = Object.keys(variables[String(target.value)] ?? {});
    if (typeof key.value === 'string' && keys.includes(key.value)) return;
    const name = String(key.value).slice(0, 64);
    report(node, `there is no ${target.value}['${name}']${didYouMean(name, keys)}`, {
      code: 'template_name_unknown',
      cure: `use one of ${keys.join(', ')}`,
      key: name,
    });
  }

  if (survey(root, 0)) visit(root, known);
  return found;
}

function parseTemplate(text: string): TemplateNode {
  if (text.length > TEMPLATE_LIMIT)
    throw new TemplateProblem(unparsed(`it has ${text.length} characters, and ${TEMPLATE_LIMIT} is the most`));
  const blanks = new RegExp(`\\s{${BLANKS_LIMIT + 1}}`, 'u').exec(text);
  if (blanks) throw new TemplateProblem(unparsed(`more than ${BLANKS_LIMIT} blanks in a row`), { line: lineAt(text, blanks.index) });
  try {
    return parser.parse(text) as TemplateNode;
  } catch (error) {
    throw problemOfParser(error, text);
  }
}

/** The parser keeps the place in the message, or next to it, counted from 1; where it has none, the template ended too early. */
function problemOfParser(cause: unknown, text: string): TemplateProblem {
  const said = cause instanceof Error ? cause.message : String(cause);
  const place = /\[Line (\d{1,9}), Column (\d{1,9})\]/.exec(said);
  const message = said
    .replace(/^\s*\([^)\n]*\)(?: \[Line \d+, Column \d+\])?\s*/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const { lineno, colno } = cause as { readonly lineno?: number; readonly colno?: number };
  const [line, column] = place ? [Number(place[1]), Number(place[2])] : [lineno ?? lineAt(text.trimEnd(), Infinity), colno];
  return new TemplateProblem(unparsed(message), { line, column, cause });
}

function unparsed(why: string): string {
  return `the template cannot be parsed: ${why}`;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

const UNUSED: ReadonlyMap<string, string> = new Map([
  ['Switch', 'switch; write if and elif'],
  ['IfAsync', 'ifAsync; write if'],
  ['AsyncEach', 'asyncEach; write for'],
  ['AsyncAll', 'asyncAll; write for'],
]);

function isNode(value: unknown): value is TemplateNode {
  return typeof value === 'object' && value !== null && typeof (value as { readonly typename?: unknown }).typename === 'string';
}

function nodesIn(value: unknown): readonly TemplateNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function isName(node: TemplateNode): node is TemplateNode & { readonly value: string } {
  return node.typename === 'Symbol' && typeof node.value === 'string' && NAME.test(node.value);
}

/** Everything below it, whatever its kind. */
function partsOf(node: TemplateNode): readonly TemplateNode[] {
  return Object.values(node).flatMap((value) => (isNode(value) ? [value] : nodesIn(value)));
}
