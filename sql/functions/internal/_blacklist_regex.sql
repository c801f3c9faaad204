create or replace function loom._blacklist_regex(p_entry loom.blacklist) returns text
language plpgsql immutable
as $$
begin
  if p_entry.pattern_type = 'regex' then
    return '(?:' || p_entry.pattern || ')';
  end if;
  return regexp_replace(loom._folded(p_entry.pattern), E'([\\\\^$.|?*+()\\[\\]{}])', E'\\\\\\1', 'g');
end
$$;
comment on function loom._blacklist_regex(loom.blacklist) is
  'A blacklist entry as a regular expression; a substring is plain text in it, and folded.';
