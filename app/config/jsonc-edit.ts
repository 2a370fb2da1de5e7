/** One member of a JSON text with comments set or taken away; every other character of meaning stays. Pure. */
import {
  applyEdits,
  createScanner,
  type Edit,
  findNodeAtLocation,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from 'jsonc-parser';

/** Why a text cannot be changed safely, as the end of a sentence. */
export class NotEditable extends Error {
  override readonly name = 'NotEditable';
}

/** `SyntaxKind.CommaToken` of jsonc-parser, whose enumerations are for compilers that see all files at once. */
const COMMA = 5;

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list',
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
};

/**
 * @param value `undefined` takes the member away
 * @throws NotEditable when the text is no JSON object, or something else is where the member's object has to be
 */
export function edited(text: string, path: JSONPath, value: unknown): string {
  const root = parsed(text);
  if (root === null) throw new NotEditable('it is no JSON object');
  checkWay(root, path);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol };
  const changed =
    value === undefined
      ? without(text, root, path)
      : applyEdits(text, modify(text, path, value, { formattingOptions }));
  if (parsed(changed) === null) throw new NotEditable(`${quoted(path)} could not be changed in its place`);
  return changed;
}

/** Gives a member another name, in its place. One that is not there is not renamed. @throws NotEditable */
export function renamed(text: string, path: JSONPath, name: string): string {
  const root = parsed(text);
  if (root === null) throw new NotEditable('it is no JSON object');
  checkWay(root, path);
  const key = findNodeAtLocation(root, path)?.parent?.children?.[0];
  if (key === undefined) return text;
  return `${text.slice(0, key.offset)}${JSON.stringify(name)}${text.slice(key.offset + key.length)}`;
}

function parsed(text: string): Node | null {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return errors.length === 0 && root?.type === 'object' ? root : null;
}

function quoted(path: JSONPath): string {
  return `"${path.join('.')}"`;
}

/** Whatever the path leads through has to be an object that has each name once. */
function checkWay(root: Node, path: JSONPath): void {
  let at: Node | undefined = root;
  for (const [index, name] of path.entries()) {
    if (at === undefined) return;
    if (at.type !== 'object') {
      const what = KINDS[at.type] ?? 'something else';
      throw new NotEditable(`its ${quoted(path.slice(0, index))} is ${what} where an object has to be`);
    }
    const members: readonly Node[] = (at.children ?? []).filter(({ children }) => children?.[0]?.value === name);
    // Programs differ in which of the two counts.
    if (members.length > 1) throw new NotEditable(`it has ${quoted(path.slice(0, index + 1))} twice`);
    at = members[0]?.children?.[1];
  }
}

/** Without the member's own text and one comma; comments around them stay. */
function without(text: string, root: Node, path: JSONPath): string {
  const member = findNodeAtLocation(root, path)?.parent;
  const siblings = member?.parent?.children;
  if (member === undefined || siblings === undefined) return text;
  const end = member.offset + member.length;
  const before = siblings[siblings.indexOf(member) - 1];
  const comma = commaFrom(text, end) ?? (before === undefined ? null : commaFrom(text, before.offset + before.length));
  const cuts: Edit[] = [{ offset: member.offset, length: member.length, content: '' }];
  if (comma !== null) cuts.push({ offset: comma, length: 1, content: '' });
  // From the last on, so that the offsets hold.
  cuts.sort((one, other) => other.offset - one.offset);
  return cuts.reduce((rest, { offset, length }) => cut(rest, offset, length), text);
}

/** Offset of the comma that comes next, whatever comments come before it; null where something else does. */
function commaFrom(text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  const token: number = scanner.scan();
  return token === COMMA ? scanner.getTokenOffset() : null;
}

/** A line that held nothing else goes as a whole. */
function cut(text: string, offset: number, length: number): string {
  const before = text.slice(0, offset);
  const after = text.slice(offset + length);
  const head = /(?:^|\n)[^\S\n]*$/u.exec(before);
  const tail = /^[^\S\n]*(?:\n|$)/u.exec(after);
  if (head === null || tail === null)
    return `${before}${/[\s{]$/u.test(before) ? after.replace(/^[ \t]+/u, '') : after}`;
  return `${before.slice(0, head.index)}${head[0].startsWith('\n') ? '\n' : ''}${after.slice(tail[0].length)}`;
}
