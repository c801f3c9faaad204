create or replace function loom._profile_formality(p_words text[], p_language text) returns text
language plpgsql stable parallel safe
as $$
declare
  v_casual bigint;
  v_formal bigint;
begin
  -- Of the language that is spoken: what is casual in one is a plain word of another.
  select count(distinct word) filter (where kind = 'casual'), count(distinct word) filter (where kind = 'formal')
  into v_casual, v_formal
  from unnest(p_words) as said (word) join loom.profile_word using (word)
  where kind in ('casual', 'formal') and (p_language is null or language = p_language);
  return case when v_casual > v_formal then 'casual' when v_formal > v_casual then 'formal' end;
end
$$;
comment on function loom._profile_formality(text[], text) is
  'Whether a text is casual or formal, by the whole words that mark either; null where neither prevails.';
