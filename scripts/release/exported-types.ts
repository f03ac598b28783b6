// What the package exports, read from the declarations and the contracts of extensions that ship: each export, and each member of it, is one
// line.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noLib: true,
  types: [],
};

const printer = ts.createPrinter({ removeComments: true });

/**
 * `pith/testing TestKernel.stop: stop(): Promise<void>;`. A type in parentheses is not exported: exported ones are made of it. Of the
 * modules behind the exporting ones no type is listed: `TestKernel.kernel` is the kernel as it is.
 */
export function exportedTypes(root: string): readonly string[] {
  const entries = entriesOf(root);
  const program = ts.createProgram([...entries.values()], OPTIONS);
  const checker = program.getTypeChecker();
  const exported = [...entries].flatMap(([entry, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
    return checker.getExportsOfModule(module).map((symbol) => ({ entry, name: symbol.name, symbol: original(checker, symbol) }));
  });
  const folders = new Set(exported.flatMap(({ symbol }) => declarationsOf(symbol, root).map(folderOf)));

  const seen = new Set(exported.map(({ symbol }) => symbol));
  const all = [...exported];
  for (const { entry, symbol } of all)
    for (const used of declarationsOf(symbol, root).flatMap((node) => typesIn(checker, node))) {
      if (seen.has(used) || !declarationsOf(used, root).some((node) => folders.has(folderOf(node)))) continue;
      seen.add(used);
      all.push({ entry, name: `(${used.name})`, symbol: used });
    }
  return all.flatMap(({ entry, name, symbol }) => linesOf(`${entry} ${name}`, declarationsOf(symbol, root))).toSorted();
}

/** The entries of the package, by the name that they are imported by. The pattern `./*` stands for a file of each extension that has one. */
function entriesOf(root: string): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, { readonly source: string; readonly types: string }>>;
  };
  const found = Object.entries(exports).flatMap(([key, target]) => {
    if (!key.includes('*')) return [[key, target.types] as const];
    const [before = '', after = ''] = target.source.split('*');
    const names = readdirSync(path.join(root, before)).filter((name) => existsSync(path.join(root, before + name + after)));
    return names.toSorted().map((name) => [key.replace('*', name), before + name + after] as const);
  });
  return new Map(found.map(([key, file]) => [path.posix.join('pith', key), path.join(root, file)]));
}

function original(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** None for what another package declares. */
function declarationsOf(symbol: ts.Symbol, root: string): readonly ts.Declaration[] {
  const shipped = ['dist', 'sandbox'].map((folder) => path.join(root, folder) + path.sep);
  return (symbol.declarations ?? []).filter((node) => shipped.some((folder) => node.getSourceFile().fileName.startsWith(folder)));
}

const folderOf = (node: ts.Node): string => path.dirname(node.getSourceFile().fileName);

function typesIn(checker: ts.TypeChecker, node: ts.Node): readonly ts.Symbol[] {
  const name = nameOfType(node);
  const symbol = name === undefined ? undefined : checker.getSymbolAtLocation(name);
  const own = symbol === undefined || symbol.flags & ts.SymbolFlags.TypeParameter ? [] : [original(checker, symbol)];
  const inner: ts.Symbol[] = [];
  ts.forEachChild(node, (child) => void inner.push(...typesIn(checker, child)));
  return [...own, ...inner];
}

function nameOfType(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  return ts.isTypeQueryNode(node) ? node.exprName : undefined;
}

function linesOf(name: string, declarations: readonly ts.Declaration[]): readonly string[] {
  if (declarations.length === 0) return [`${name}: of another package`];
  return declarations.flatMap((node) => {
    if (ts.isFunctionDeclaration(node)) return [`${name}: ${textOf(node, withoutBody(node))}`];
    if (!ts.isInterfaceDeclaration(node) && !ts.isClassDeclaration(node)) return [`${name}: ${textOf(node)}`];
    const members = node.members.map((member) => `${name}.${nameOfMember(member)}: ${textOf(member)}`);
    return [`${name}: ${textOf(node, withoutMembers(node))}`, ...members];
  });
}

function nameOfMember(member: ts.TypeElement | ts.ClassElement): string {
  if (member.name !== undefined) return member.name.getText();
  if (ts.isConstructorDeclaration(member) || ts.isConstructSignatureDeclaration(member)) return 'new';
  return ts.isCallSignatureDeclaration(member) ? '()' : '[]';
}

function withoutMembers(node: ts.InterfaceDeclaration | ts.ClassDeclaration): ts.Node {
  const { modifiers, name, typeParameters, heritageClauses } = node;
  if (ts.isInterfaceDeclaration(node))
    return ts.factory.createInterfaceDeclaration(modifiers, node.name, typeParameters, heritageClauses, []);
  return ts.factory.createClassDeclaration(modifiers, name, typeParameters, heritageClauses, []);
}

function withoutBody(node: ts.FunctionDeclaration): ts.Node {
  const { modifiers, name, typeParameters, parameters, type } = node;
  return ts.factory.createFunctionDeclaration(modifiers, undefined, name, typeParameters, parameters, type, undefined);
}

/** On one line, without comments. */
function textOf(node: ts.Node, printed: ts.Node = node): string {
  return printer.printNode(ts.EmitHint.Unspecified, printed, node.getSourceFile()).replace(/\s+/g, ' ');
}
