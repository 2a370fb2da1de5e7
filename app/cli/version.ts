import { version } from '../../package.json';

/** This program's version, as its package says. */
export const VERSION: string = version;
