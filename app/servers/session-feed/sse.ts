/** What is fed to a parser of server-sent events. */
export interface SseParser {
  feed(text: string): void;
}

/**
 * Incremental parser of server-sent events (WHATWG HTML, section 9.2.6), as far as `data` fields go. An event longer
 * than `maxChars` is dropped whole and parsing goes on behind it, so that memory stays bounded whatever is sent.
 *
 * @param onData gets the joined data lines of each complete event
 */
export function createSseParser(onData: (data: string) => void, maxChars: number): SseParser {
  let rest = '';
  let data: string[] = [];
  let size = 0;
  let dropping = false;
  // The end of a line was a carriage return that ended the chunk: a line feed after it belongs to it.
  let afterReturn = false;

  const drop = (): void => {
    dropping = true;
    data = [];
  };
  const endLine = (line: string): void => {
    if (line === '') {
      if (!dropping && data.length > 0) onData(data.join('\n'));
      data = [];
      size = 0;
      dropping = false;
      return;
    }
    if (dropping) return;
    size += line.length;
    if (size > maxChars) drop();
    else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  };

  return {
    feed(text) {
      if (text === '') return;
      const chunk = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
      afterReturn = text.endsWith('\r');
      if (/[\r\n]/u.test(chunk)) {
        const lines = (rest + chunk).split(/\r\n|\n|\r/u);
        rest = lines.pop() ?? '';
        for (const line of lines) endLine(line);
      } else {
        // Nothing is looked at twice: a long line may trickle in byte by byte.
        rest += chunk;
      }
      if (rest.length + size > maxChars) {
        drop();
        // One character stands for the line, so that its end is not taken for an empty line.
        rest = ':';
      }
    },
  };
}
