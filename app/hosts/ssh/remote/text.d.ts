/** Scripts are bundled as text (build/build.mjs; vitest.config.ts for tests). */
declare module '*.sh' {
  const text: string;
  export default text;
}
declare module '*.py' {
  const text: string;
  export default text;
}
