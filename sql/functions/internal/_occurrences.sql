create or replace function loom._occurrences(p_text text, p_old text, p_expected integer) returns integer
language plpgsql immutable parallel safe
as $$
declare
  v_count integer := (char_length(p_text) - char_length(replace(p_text, p_old, ''))) / char_length(p_old);
begin
  if v_count = 0 then
    raise exception using errcode = 'LM403', message = 'The old text does not stand there.',
      hint = 'Read the current text: the match is exact, case, spaces and newlines included.';
  end if;
  if v_count <> p_expected then
    raise exception using errcode = 'LM203', message = 'The old text stands there another number of times.',
      detail = jsonb_build_object('replacements', v_count)::text,
      hint = 'Name more of the surrounding text, or another expected_count.';
  end if;
  return v_count;
end
$$;
comment on function loom._occurrences(text, text, integer) is
  'How often the old text stands in a text, left to right and not overlapping. LM403 when never, LM203 when expected to stand there another number of times.';
