create or replace function loom._pack_framed(p_name text, p_bodies text[], p_format text) returns text
language sql stable parallel safe
as $$
  select case
    when p_bodies is null then ''
    -- Blocks say of themselves what they are; the user's own profile has a frame in the language asked for.
    when p_name = 'user_profile' or p_name = 'working_memory' and p_format = 'xml' then array_to_string(p_bodies, E'\n')
    when p_format = 'xml' then '<' || p_name || E'>\n' || array_to_string(p_bodies, E'\n') || E'\n</' || p_name || '>'
    else '# ' || case p_name
        when 'working_memory' then 'Working memory'
        when 'profile' then 'Profile'
        when 'looms' then 'Looms'
        when 'memories' then 'Memories'
        when 'decisions' then 'Decisions'
      end || E'\n\n' || array_to_string(p_bodies, E'\n')
  end
$$;
comment on function loom._pack_framed(text, text[], text) is
  'A section''s items one after the other, and around them what says which section it is; empty where there is none.';
