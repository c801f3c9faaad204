create or replace function loom._pack_frame(p_name text, p_format text) returns text[]
language sql immutable parallel safe
as $$
  select case
    -- Has a frame of its own, in the language asked for.
    when p_name = 'user_profile' then array['', '']
    when p_format = 'markdown' then array['# ' || case p_name
        when 'working_memory' then 'Working memory'
        when 'profile' then 'Profile'
        when 'looms' then 'Looms'
        when 'memories' then 'Memories'
        when 'decisions' then 'Decisions'
      end || E'\n\n', '']
    -- Blocks say of themselves what they are.
    when p_name = 'working_memory' then array['', '']
    else array['<' || p_name || E'>\n', E'\n</' || p_name || '>']
  end
$$;
comment on function loom._pack_frame(text, text) is 'What stands before and behind the items of a section.';
